//! Serves the metrics of a database over HTTP while lookups go on, for Prometheus:
//!
//! ```console
//! cargo run --release -p springbloom-rocksdb --example serve_metrics -- 127.0.0.1:9184 /tmp/springbloom-served
//! ```
//!
//! The address, and a folder for the database.

use std::{
    error::Error,
    io::{self, BufRead, BufReader, Write},
    net::TcpListener,
    thread,
};

use rocksdb::{DB, Options};
use springbloom_rocksdb::ElasticFilters;

/// Answers every request with the metrics.
fn serve(listener: &TcpListener, elastic: &ElasticFilters) -> io::Result<()> {
    for stream in listener.incoming() {
        let mut stream = stream?;
        let mut request = BufReader::new(stream.try_clone()?).lines();
        while request.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
        let (kind, text) = (ElasticFilters::METRICS_CONTENT_TYPE, elastic.metrics_text());
        let length = text.len();
        // A reader that went away is no reason to end.
        let _ = write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}"
        );
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:9184".to_owned());
    let folder = arguments.next().unwrap_or_else(|| "/tmp/springbloom-served".to_owned());
    let elastic = ElasticFilters::builder().budget_bytes(128 << 10).build()?;
    let mut options = Options::default();
    options.create_if_missing(true);
    elastic.install(&mut options)?;
    let db = DB::open(&options, folder)?;
    for number in 0..200_000u32 {
        db.put((2 * number).to_be_bytes(), [b'v'; 400])?;
    }
    db.flush()?;
    let listener = TcpListener::bind(address)?;
    println!("http://{}/metrics", listener.local_addr()?);
    thread::spawn(move || serve(&listener, &elastic));
    // Half of the keys are absent.
    for number in (0..400_000u32).cycle() {
        db.get(number.to_be_bytes())?;
    }
    Ok(())
}
