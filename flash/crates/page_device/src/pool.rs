//! Batched reads without io_uring: a fixed pool of threads, each with one blocking read in flight.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use parking_lot::Mutex;

use crate::AlignedBuf;
use crate::Span;

/// One read. The buffer travels to the worker and back.
struct Job {
    index: usize,
    span: Span,
    buf: AlignedBuf,
    done: Sender<Done>,
}

struct Done {
    index: usize,
    buf: AlignedBuf,
    result: io::Result<()>,
}

/// Worker threads for one file. They end when the pool is dropped.
pub(crate) struct ReadPool {
    jobs: Sender<Job>,
}

impl ReadPool {
    /// Starts `threads` workers that read `file`, or fewer at a limit of processes. `None` if there is not one.
    pub(crate) fn start(file: Arc<File>, threads: usize) -> Option<ReadPool> {
        let (jobs, queue) = channel::<Job>();
        let queue = Arc::new(Mutex::new(queue));
        for n in 0..threads {
            let (file, queue) = (file.clone(), queue.clone());
            let worker = std::thread::Builder::new().name(format!("flash-read-{n}")).stack_size(64 << 10);
            if worker.spawn(move || work(&file, &queue)).is_err() {
                return (n > 0).then_some(ReadPool { jobs });
            }
        }
        Some(ReadPool { jobs })
    }

    /// See [`crate::PageDevice::read_each`]. At most `depth` reads are queued at a time.
    pub(crate) fn read_each(
        &self,
        spans: &[Span],
        depth: usize,
        visit: &mut dyn FnMut(usize, io::Result<&[u8]>),
    ) {
        let len_max = spans.iter().map(|s| s.len_bytes).max().unwrap_or(0);
        let (done, finished) = channel();
        let mut next = 0;
        let mut in_flight = 0;
        let mut spare: Vec<AlignedBuf> =
            (0..depth.min(spans.len())).map(|_| AlignedBuf::new(len_max)).collect();
        while next < spans.len() || in_flight > 0 {
            while next < spans.len()
                && let Some(buf) = spare.pop()
            {
                let job = Job { index: next, span: spans[next], buf, done: done.clone() };
                next += 1;
                match self.jobs.send(job) {
                    Ok(()) => in_flight += 1,
                    Err(lost) => {
                        visit(lost.0.index, Err(io::Error::other("the read pool has no threads left")));
                        spare.push(lost.0.buf);
                    }
                }
            }
            if in_flight == 0 {
                continue;
            }
            // `done` is alive here, so `recv` cannot fail.
            let Ok(answer) = finished.recv() else { return };
            in_flight -= 1;
            let len = spans[answer.index].len_bytes;
            visit(answer.index, answer.result.map(|()| &answer.buf[..len]));
            spare.push(answer.buf);
        }
    }
}

fn work(file: &File, queue: &Mutex<Receiver<Job>>) {
    loop {
        let job = queue.lock().recv();
        let Ok(Job { index, span, mut buf, done }) = job else { return };
        let result = file.read_exact_at(&mut buf[..span.len_bytes], span.offset);
        // The caller may be gone. Then nobody needs the answer.
        let _ = done.send(Done { index, buf, result });
    }
}
