//! A thread that reads metrics, so that keys do not wait for a server.

use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread;

use anyhow::{Context, Result};

use super::endpoint::Endpoint;
use super::reading::Reading;

/// Reads when it is asked to, one reading at a time. The thread ends behind its owner, after the reading that it makes.
pub(super) struct Reader {
    wishes: Sender<()>,
    readings: Receiver<Result<Reading>>,
    is_asked: bool,
}

impl Reader {
    /// Starts the thread.
    pub(super) fn start(endpoint: Endpoint) -> Result<Self> {
        let (wishes, wished) = mpsc::channel();
        let (done, readings) = mpsc::channel();
        let read = move || {
            while wished.recv().is_ok() {
                if done.send(endpoint.read()).is_err() {
                    break;
                }
            }
        };
        thread::Builder::new().name("metrics".to_owned()).spawn(read).context("cannot start a thread")?;
        Ok(Self { wishes, readings, is_asked: false })
    }

    /// Whether a reading is being made.
    pub(super) fn is_asked(&self) -> bool {
        self.is_asked
    }

    /// Asks for a reading, unless one is being made.
    pub(super) fn ask(&mut self) {
        self.is_asked = self.is_asked || self.wishes.send(()).is_ok();
    }

    /// The reading that was asked for, once it is there.
    pub(super) fn take(&mut self) -> Option<Result<Reading>> {
        match self.readings.try_recv() {
            Ok(reading) => {
                self.is_asked = false;
                Some(reading)
            }
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::time::Duration;

    use super::*;

    #[test]
    fn nobody_waits_for_a_server_that_is_slow() {
        let server = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/metrics", server.local_addr().expect("its address"));
        let mut reader = Reader::start(Endpoint::new(&url).expect("a URL")).expect("a thread");
        assert!(reader.take().is_none() && !reader.is_asked());
        reader.ask();
        reader.ask();
        let (mut client, _) = server.accept().expect("it asks");
        // It has asked and has no answer: there is nothing to take, and nothing waits.
        assert!(reader.is_asked() && reader.take().is_none());
        _ = client.read(&mut [0; 4096]).expect("the question");
        client.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").expect("an answer");
        let error = loop {
            match reader.take() {
                Some(answer) => break answer.expect_err("there are no metrics").to_string(),
                None => thread::sleep(Duration::from_millis(1)),
            }
        };
        assert!(error.contains("404"), "{error}");
        assert!(!reader.is_asked());
        // Asked twice before it answered, it reads once.
        server.set_nonblocking(true).expect("a port");
        assert!(server.accept().is_err() && reader.take().is_none());
    }
}
