//! The live view, at a terminal.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::termios::LocalModes;

use crate::pty::AtTerminal;
use crate::{METRICS, answer, serve};

const ALTERNATE_SCREEN: [&str; 2] = ["\x1b[?1049h", "\x1b[?1049l"];
const HIDDEN_CURSOR: [&str; 2] = ["\x1b[?25l", "\x1b[?25h"];

fn live(url: &str, columns: u16, rows: u16) -> AtTerminal {
    let program = assert_cmd::cargo::cargo_bin("springbloom");
    AtTerminal::start(&program, &["top", url, "--interval", "0.1"], columns, rows)
}

/// Whether the alternate screen was left and the cursor shown, after the last time that they were entered and hidden.
fn is_restored(output: &str) -> bool {
    [ALTERNATE_SCREEN, HIDDEN_CURSOR]
        .iter()
        .all(|[on, off]| output.rfind(on).is_some_and(|last| output[last..].contains(off)))
}

fn frames(output: &str) -> usize {
    output.matches("springbloom top:").count()
}

#[test]
fn a_terminal_that_lies_about_its_size_is_drawn_in_part() {
    let address = serve(|| answer("200 OK", METRICS));
    for (columns, rows) in [(65_535, 65_535), (20_000, 20_000), (80, 24)] {
        let mut view = live(&format!("http://{address}/metrics"), columns, rows);
        view.wait_for("frame", |output| frames(output) == 1);
        view.resize(20_000, 65_535);
        // All of the view is drawn anew for another size.
        let drawn = if rows == 24 { 2 } else { 1 };
        view.wait_for("frame of the new size", |output| frames(output) == drawn);
        view.keyboard().write_all(b"q").expect("a key");
        let status = view.wait();
        assert_eq!(status.code(), Some(0), "{status}: {:?}", view.output());
        view.wait_for("restored screen", is_restored);
    }
}

#[test]
fn a_signal_leaves_the_terminal_as_it_was() {
    let address = serve(|| answer("200 OK", METRICS));
    for (signal, number) in [("HUP", 1), ("INT", 2), ("QUIT", 3), ("TERM", 15)] {
        let mut view = live(&format!("http://{address}/metrics"), 80, 24);
        view.wait_for("frame", |output| frames(output) == 1);
        let is_raw =
            |view: &AtTerminal| !view.modes().local_modes.contains(LocalModes::ICANON | LocalModes::ECHO);
        assert!(is_raw(&view));
        view.send(signal);
        let status = view.wait();
        assert_eq!(status.signal(), Some(number), "{status}: {:?}", view.output());
        assert!(!is_raw(&view), "{signal}");
        view.wait_for("restored screen", is_restored);
    }
}

#[test]
fn values_that_springbloom_does_not_give_are_a_failure_that_may_pass() {
    let is_mad = Arc::new(AtomicBool::new(false));
    let answers = is_mad.clone();
    let address = serve(move || {
        let mad = if answers.load(Ordering::Relaxed) { "springbloom_tables -1e300\n" } else { "" };
        answer("200 OK", &format!("{METRICS}{mad}"))
    });
    let mut view = live(&format!("http://{address}/metrics"), 200, 24);
    view.wait_for("frame", |output| frames(output) == 1);
    is_mad.store(true, Ordering::Relaxed);
    view.wait_for("failure", |output| output.contains("springbloom_tables is -1e300"));
    is_mad.store(false, Ordering::Relaxed);
    view.wait_for("recovery", |output| output.matches("q ends").count() == 2);
    view.keyboard().write_all(b"q").expect("a key");
    assert_eq!(view.wait().code(), Some(0));
}
