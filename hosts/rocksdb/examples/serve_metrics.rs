//! Serves the metrics of two databases over HTTP while lookups go on, for Prometheus:
//!
//! ```console
//! cargo run --release -p springbloom-rocksdb --example serve_metrics -- 127.0.0.1:9184 /tmp/springbloom-served 60
//! ```
//!
//! The address, a folder for the databases, and for how many seconds.

use std::{
    error::Error,
    io::{self, BufRead, BufReader, Write},
    net::TcpListener,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rocksdb::{ColumnFamilyDescriptor, DB, Options};
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

/// A database of some tables.
fn filled(options: &Options, path: &Path, families: &[&str], records: u32) -> Result<DB, rocksdb::Error> {
    let described = families.iter().map(|name| ColumnFamilyDescriptor::new(*name, options.clone()));
    let db = DB::open_cf_descriptors(options, path, described)?;
    for name in families {
        let family = db.cf_handle(name).expect("it was opened");
        for record in 0..records {
            db.put_cf(family, key(2 * record), [b'v'; 400])?;
        }
        db.flush_cf(family)?;
    }
    Ok(db)
}

fn key(number: u32) -> [u8; 16] {
    let mut key = [b'k'; 16];
    key[..4].copy_from_slice(&number.to_be_bytes());
    key
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:9184".to_owned());
    let folder = arguments.next().unwrap_or_else(|| "/tmp/springbloom-served".to_owned());
    let seconds: u64 = arguments.next().map_or(Ok(60), |seconds| seconds.parse())?;

    let elastic = ElasticFilters::builder().budget_bytes(128 << 10).segment_data_bytes(256 << 10).build()?;
    let listener = TcpListener::bind(address)?;
    println!("http://{}/metrics for {seconds} s", listener.local_addr()?);
    let of_server = elastic.clone();
    thread::spawn(move || serve(&listener, &of_server));

    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_write_buffer_size(4 << 20);
    elastic.install(&mut options)?;
    let folder = Path::new(&folder);
    let orders = filled(&options, &folder.join("orders"), &["default", "items"], 50_000)?;
    let sessions = filled(&options, &folder.join("sessions"), &["default"], 200_000)?;
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut state = 1u32;
    while Instant::now() < end {
        for _ in 0..1000 {
            // Half of the keys are absent. Small ones are looked up more often.
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let number = (f64::from(state) / f64::from(u32::MAX)).powi(3) * 400_000.0;
            sessions.get(key(number as u32))?;
            if state >> 28 == 0 {
                let items = orders.cf_handle("items").expect("it was opened");
                orders.get_cf(items, key(number as u32 / 4))?;
            }
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}
