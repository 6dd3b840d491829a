//! Batched operations without io_uring: some threads with one blocking operation each.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;

use crate::unsafe_uring::QUEUE_DEPTH;

/// Enough for a blocking call.
const STACK_BYTES: usize = 64 << 10;

/// Runs the operations before number `count` and passes what each returns to `done`, in the order of completion.
pub(crate) fn in_threads<T: Send>(
    count: usize,
    run: impl Fn(usize) -> T + Sync,
    mut done: impl FnMut(usize, T),
) {
    let next = AtomicUsize::new(0);
    let take = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|n| *n < count);
    // Room for some results, so that threads need not wait for this one, and not for many, which may be large.
    let (sender, results) = sync_channel(QUEUE_DEPTH / 4);
    std::thread::scope(|scope| {
        let (take, run) = (&take, &run);
        // One operation needs no thread. At a limit of processes, this one does what there is no thread for.
        for _ in 0..if count > 1 { count.min(QUEUE_DEPTH) } else { 0 } {
            let sender = sender.clone();
            let work = move || {
                while let Some(n) = take() {
                    if sender.send((n, run(n))).is_err() {
                        return;
                    }
                }
            };
            if std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        drop(sender);
        results.into_iter().for_each(|(n, result)| done(n, result));
        while let Some(n) = take() {
            done(n, run(n));
        }
    });
}
