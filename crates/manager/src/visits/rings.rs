//! A queue of bounded length that many threads push to and pop from without a lock, and whose places can become more while they do.
//!
//! Places come in rings, each as large as all before it, and stay until the queue goes: nobody's ring is ever taken away.

use std::sync::OnceLock;

use crossbeam_queue::ArrayQueue;

/// Most rings.
const RINGS_MAX: usize = 12;

/// The queue.
pub(crate) struct Rings<T> {
    /// Behind pointers, as a ring keeps its ends on cache lines of their own.
    rings: [OnceLock<Box<ArrayQueue<T>>>; RINGS_MAX],
}

impl<T> Rings<T> {
    /// A queue without places.
    pub(crate) fn new() -> Self {
        Self { rings: [const { OnceLock::new() }; RINGS_MAX] }
    }

    fn rings(&self) -> impl DoubleEndedIterator<Item = &ArrayQueue<T>> {
        self.rings.iter().filter_map(OnceLock::get).map(Box::as_ref)
    }

    /// Adds a ring of so many places; `false` if there are too many rings. One caller at a time.
    pub(crate) fn add_places(&self, places: usize) -> bool {
        let free = self.rings.iter().find(|ring| ring.get().is_none());
        free.is_some_and(|ring| ring.set(Box::new(ArrayQueue::new(places))).is_ok())
    }

    /// Places there are.
    pub(crate) fn places(&self) -> usize {
        self.rings().map(ArrayQueue::capacity).sum()
    }

    /// Elements there are.
    pub(crate) fn len(&self) -> usize {
        self.rings().map(ArrayQueue::len).sum()
    }

    /// Puts an element in. There must be a place for every element that anybody can put in: so one is found, at the latest when the
    /// rings that were full when they were looked at are looked at again.
    pub(crate) fn push(&self, mut element: T) {
        loop {
            // The largest one first: the others hold what it has no place for.
            for ring in self.rings().rev() {
                match ring.push(element) {
                    Ok(()) => return,
                    Err(back) => element = back,
                }
            }
        }
    }

    /// Takes an element out: the oldest one, as long as one ring is enough.
    pub(crate) fn pop(&self) -> Option<T> {
        self.rings().find_map(ArrayQueue::pop)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn places_become_more_and_elements_stay() {
        let queue = Rings::new();
        assert_eq!((queue.places(), queue.pop()), (0, None::<u32>));
        assert!(queue.add_places(1));
        queue.push(1);
        assert!(queue.add_places(2));
        (2..=3).for_each(|element| queue.push(element));
        assert_eq!((queue.places(), queue.len()), (3, 3));
        assert_eq!([(); 4].map(|()| queue.pop()), [Some(1), Some(2), Some(3), None]);
    }

    #[test]
    fn threads_lose_nothing_while_places_become_more() {
        let (queue, sum) = (Rings::new(), AtomicUsize::new(0));
        assert!(queue.add_places(4));
        (0..4).for_each(|element| queue.push(element));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        if let Some(element) = queue.pop() {
                            queue.push(element);
                        }
                    }
                });
            }
            (0..8).for_each(|_| assert!(queue.add_places(1)));
        });
        while let Some(element) = queue.pop() {
            sum.fetch_add(1 << (8 * element), Ordering::Relaxed);
        }
        assert_eq!(sum.into_inner(), 0x0101_0101, "each of the four once");
    }
}
