//! A program at a terminal that the test holds the other end of.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};

/// Much longer than anything takes: a test that waits for so long has failed.
const PATIENCE: Duration = Duration::from_secs(120);

/// A program and its terminal.
pub(crate) struct AtTerminal {
    child: Child,
    /// Held, so that the terminal outlives the program.
    terminal: File,
    other_end: File,
    output: Arc<Mutex<Vec<u8>>>,
}

impl AtTerminal {
    /// Starts a program at a terminal of a size, with 1 GiB of addresses. It is no process's controlling terminal: its end would set the
    /// modes back, and `/dev/tty` would be another terminal.
    pub(crate) fn start(program: &Path, arguments: &[&str], columns: u16, rows: u16) -> Self {
        let other_end = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&other_end).and_then(|()| unlockpt(&other_end)).expect("a terminal");
        let name = ptsname(&other_end, Vec::new()).expect("its name").into_string().expect("UTF-8");
        let open = || {
            let mut options = OpenOptions::new();
            options.read(true).write(true).custom_flags(OFlags::NOCTTY.bits() as i32);
            options.open(&name).expect("a terminal")
        };
        let terminal = open();
        let other_end = File::from(other_end);
        let end = || Stdio::from(open());
        resize(&other_end, columns, rows);
        let child = Command::new("prlimit")
            .args(["--as=1073741824", "--core=0", "setsid"])
            // Signals that the tests ignore, as under nohup, would be ignored by the program, too.
            .args(["env", "--default-signal"])
            .arg(program)
            .args(arguments)
            .envs([("TERM", "xterm")])
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .expect("the program");
        let output = Arc::new(Mutex::new(Vec::new()));
        let (mut from, into) = (other_end.try_clone().expect("a terminal"), output.clone());
        // Ends when the last end of the terminal is closed.
        thread::spawn(move || {
            let mut bytes = [0; 1 << 16];
            while let Ok(count) = from.read(&mut bytes) {
                into.lock().expect("output").extend_from_slice(&bytes[..count]);
            }
        });
        Self { child, terminal, other_end, output }
    }

    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        resize(&self.other_end, columns, rows);
    }

    /// The keyboard.
    pub(crate) fn keyboard(&self) -> &File {
        &self.other_end
    }

    pub(crate) fn modes(&self) -> Termios {
        tcgetattr(&self.terminal).expect("modes")
    }

    /// All that was written so far.
    pub(crate) fn output(&self) -> String {
        String::from_utf8_lossy(&self.output.lock().expect("output")).into_owned()
    }

    /// Waits until the output fulfils something.
    pub(crate) fn wait_for(&self, what: &str, is_there: impl Fn(&str) -> bool) {
        let start = Instant::now();
        while !is_there(&self.output()) {
            assert!(start.elapsed() < PATIENCE, "no {what}: {:?}", self.output());
            thread::sleep(Duration::from_millis(10));
        }
    }

    pub(crate) fn send(&self, signal: &str) {
        let sent = Command::new("kill").args(["-s", signal, &self.child.id().to_string()]).status();
        assert!(sent.expect("kill").success());
    }

    /// How the program ended.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return status;
            }
            assert!(start.elapsed() < PATIENCE, "it does not end: {:?}", self.output());
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for AtTerminal {
    fn drop(&mut self) {
        // Ended long ago, unless the test failed.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn resize(other_end: &File, columns: u16, rows: u16) {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(other_end, size).expect("a size");
}
