//! Cuts standard input into content-defined chunks (FastCDC) and writes the SHA-1 digest of each, 20 bytes, to standard output. This is the
//! dedupe workload of the flash filter's benchmark. Argument: the average chunk size in bytes (default 2,048).

use std::io::{BufWriter, Read, Write, stdin, stdout};

use fastcdc::v2020::StreamCDC;
use sha1::{Digest, Sha1};

fn main() -> std::io::Result<()> {
    let average: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(2048);
    let input: Box<dyn Read> = Box::new(stdin().lock());
    let mut output = BufWriter::new(stdout().lock());
    for chunk in StreamCDC::new(input, average / 4, average, average * 8) {
        output.write_all(&Sha1::digest(chunk?.data))?;
    }
    output.flush()
}
