//! `springbloom top` over the metrics that the host exports, from a server in this process.

mod live;
mod pty;

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread;

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use rocksdb::{DB, Options};
use springbloom_rocksdb::ElasticFilters;

/// Metrics of Springbloom, as few as there can be.
const METRICS: &str = "springbloom_budget_bytes 1024\n";

/// Answers every request with what `answer` gives: status line, headers and body.
fn serve(answer: impl Fn() -> String + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut request = BufReader::new(stream.try_clone().expect("its other half")).lines();
            while request.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let _ = stream.write_all(answer().as_bytes());
        }
    });
    address
}

fn answer(status: &str, text: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}", text.len())
}

fn top(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("springbloom").expect("the program is built");
    command
        .arg("top")
        .args(arguments)
        .env_remove("http_proxy")
        .env_remove("HTTP_PROXY")
        .env_remove("ALL_PROXY");
    command
}

/// A database with some lookups behind it.
fn filled(folder: &std::path::Path, elastic: &ElasticFilters) -> DB {
    let mut options = Options::default();
    options.create_if_missing(true);
    elastic.install(&mut options).expect("install");
    let db = DB::open(&options, folder).expect("open");
    (0..20_000u32).for_each(|number| db.put((2 * number).to_be_bytes(), [b'v'; 100]).expect("put"));
    db.flush().expect("flush");
    for number in 0..40_000u32 {
        assert_eq!(db.get(number.to_be_bytes()).expect("get").is_some(), number % 2 == 0);
    }
    db
}

#[test]
fn the_metrics_of_a_program_come_as_a_table_and_as_json() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("orders, {new}");
    let elastic = ElasticFilters::builder()
        .budget_bytes(2 << 20)
        .segment_data_bytes(64 << 10)
        .build()
        .expect("settings");
    let db = filled(&path, &elastic);
    assert!(elastic.wait_idle(std::time::Duration::from_secs(60)), "the loader never came to rest");
    let served = elastic.clone();
    let address = serve(move || answer("200 OK", &served.metrics_text()));

    let json = top(&["--json", &format!("http://{address}/metrics")]).assert().success();
    let json: serde_json::Value = serde_json::from_slice(&json.get_output().stdout).expect("JSON");
    let stats = elastic.stats();
    assert_eq!(json["budget_bytes"], 2 << 20);
    assert_eq!(json["tables"], stats.tables);
    assert_eq!(json["counts"]["wasted_reads"], stats.outcomes.wasted_reads);
    assert_eq!(json["counts"]["visits"], stats.outcomes.visits());
    assert_eq!(json["counts"]["units_loaded"], stats.loads);
    let resident: u64 = stats.levels.iter().map(|level| level.unit_bytes as u64).sum();
    assert!(resident > 0);
    assert_eq!(json["levels"]["0"]["resident_bytes"], resident);
    let families = json["families"].as_array().expect("a list");
    assert_eq!(families.len(), 1);
    assert_eq!(families[0]["database"], path.to_str().expect("a path"));
    assert_eq!(
        (&families[0]["family"], &families[0]["resident_bytes"]),
        (&"default".into(), &resident.into())
    );

    // The scheme may be left out.
    top(&["--once", &format!("{address}/metrics")])
        .assert()
        .success()
        .stdout(contains("2 MiB in use, at most"))
        .stdout(contains(path.to_str().expect("a path")))
        .stdout(contains("wasted reads").and(contains("resident")));
    drop(db);
}

#[test]
fn what_is_no_source_of_metrics_is_told() {
    let other = serve(|| answer("200 OK", "process_cpu_seconds_total 1\n"));
    let missing = serve(|| answer("404 Not Found", ""));
    let mute = serve(String::new);
    let classic = serve(|| answer("200 OK", "# TYPE go_gc_cycles counter\ngo_goroutines 5\n"));
    let empty = serve(|| answer("200 OK", "\n"));
    let mad = serve(|| answer("200 OK", &format!("{METRICS}springbloom_tables 1e308\n")));
    let unknown =
        serve(|| answer("200 OK", &format!("{METRICS}springbloom_expected_wasted_reads_per_visit NaN\n")));
    let cut_off =
        serve(|| answer("200 OK", "# TYPE springbloom_visits counter\nspringbloom_budget_bytes 1024\n"));
    // Nobody listens there any more.
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    for (url, expected) in [
        (format!("http://{other}/metrics"), "answers, but without metrics of Springbloom"),
        (format!("http://{classic}/metrics"), "answers, but without metrics of Springbloom"),
        (format!("http://{empty}/metrics"), "answers with an empty page"),
        (format!("http://{mad}/metrics"), "springbloom_tables is 1e308, expected a number from 0 to 2^64"),
        (format!("http://{unknown}/metrics"), "springbloom_expected_wasted_reads_per_visit is NaN, expected"),
        (format!("http://{missing}/metrics"), "answers 404 Not Found"),
        (format!("http://{mute}/metrics"), "cannot read http://"),
        (format!("http://{cut_off}/metrics"), "metrics that are cut off, expected a last line of \"# EOF\""),
        ("http://localhost:99999/metrics".to_owned(), "has a port that is none"),
        (format!("http://{free}/metrics"), "Connection refused"),
        ("https://localhost/metrics".to_owned(), "asks for TLS"),
        ("http://".to_owned(), "is no URL"),
        ("http://name.invalid/metrics".to_owned(), "cannot read http://name.invalid/metrics"),
    ] {
        for form in ["--once", "--json"] {
            top(&[form, &url]).assert().code(2).stdout("").stderr(contains(expected));
        }
    }
    let live = format!("http://{other}/metrics");
    top(&[&live]).assert().code(2).stderr(contains("needs a terminal"));
    top(&[&live, "--interval", "0"]).assert().code(2).stderr(contains("expected a number from 0.1 to 3600"));
}
