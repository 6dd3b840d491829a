//! A bounded lock-free queue for many threads, whose length can change while they use it.
//!
//! Places come in rings. A ring that is taken away is kept until nobody uses it any more. Elements that were put into it meanwhile are
//! found then.

use std::sync::Arc;

use arc_swap::ArcSwap;
use crossbeam_queue::ArrayQueue;
use parking_lot::Mutex;

/// Behind a pointer: a ring's ends are on cache lines of their own, which makes it large.
type Ring<T> = Arc<ArrayQueue<T>>;

/// The queue.
pub(crate) struct Rings<T> {
    rings: ArcSwap<Vec<Ring<T>>>,
    /// Rings that were taken away. Somebody may still use them.
    retired: Mutex<Vec<Ring<T>>>,
}

impl<T> Rings<T> {
    /// A queue without places.
    pub(crate) fn new() -> Self {
        Self { rings: ArcSwap::default(), retired: Mutex::default() }
    }

    /// Adds a ring of this many places. One caller at a time.
    pub(crate) fn add_places(&self, places: usize) {
        let ring = Arc::new(ArrayQueue::new(places));
        let rings = self.rings.load().iter().cloned().chain([ring]).collect();
        self.rings.store(Arc::new(rings));
    }

    /// Replaces all places by this many new ones. [`reclaim`](Self::reclaim) frees the old ones. One caller at a time.
    pub(crate) fn replace_places(&self, places: usize) {
        let rings = (places > 0).then(|| Arc::new(ArrayQueue::new(places)));
        let retired = self.rings.swap(Arc::new(rings.into_iter().collect()));
        self.retired.lock().extend(retired.iter().cloned());
    }

    /// Frees the rings that were taken away and that nobody uses any more. Gives how many places they had, and calls `left` with each
    /// element in them.
    pub(crate) fn reclaim(&self, mut left: impl FnMut(T)) -> usize {
        let mut retired = self.retired.lock();
        // A thread that uses a ring holds a list of rings with it, and no new list has a ring that was taken away.
        let free: Vec<_> = retired.extract_if(.., |ring| Arc::get_mut(ring).is_some()).collect();
        drop(retired);
        free.iter().for_each(|ring| std::iter::from_fn(|| ring.pop()).for_each(&mut left));
        free.iter().map(|ring| ring.capacity()).sum()
    }

    /// Places there are.
    pub(crate) fn places(&self) -> usize {
        self.rings.load().iter().map(|ring| ring.capacity()).sum()
    }

    /// Elements there are.
    pub(crate) fn len(&self) -> usize {
        self.rings.load().iter().map(|ring| ring.len()).sum()
    }

    /// Puts an element in; gives it back if there is no place for it.
    pub(crate) fn push(&self, mut element: T) -> Result<(), T> {
        let rings = self.rings.load();
        loop {
            // The largest one first: the others hold what it has no place for.
            for ring in rings.iter().rev() {
                match ring.push(element) {
                    Ok(()) => return Ok(()),
                    Err(back) => element = back,
                }
            }
            // Each ring was full when it was looked at; one may have a place now.
            if rings.iter().all(|ring| ring.is_full()) {
                return Err(element);
            }
        }
    }

    /// Takes an element out: the oldest one, as long as one ring is enough.
    pub(crate) fn pop(&self) -> Option<T> {
        self.rings.load().iter().find_map(|ring| ring.pop())
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
        assert_eq!(queue.push(1), Err(1));
        queue.add_places(1);
        assert_eq!(queue.push(1), Ok(()));
        queue.add_places(2);
        assert_eq!((2..=4).map(|element| queue.push(element)).collect::<Vec<_>>(), [Ok(()), Ok(()), Err(4)]);
        assert_eq!((queue.places(), queue.len()), (3, 3));
        assert_eq!([(); 4].map(|()| queue.pop()), [Some(1), Some(2), Some(3), None]);
    }

    #[test]
    fn elements_in_places_that_are_taken_away_are_found() {
        let queue = Rings::new();
        queue.add_places(2);
        assert_eq!((queue.push(1), queue.push(2)), (Ok(()), Ok(())));
        let in_use = queue.rings.load_full();
        queue.replace_places(1);
        assert_eq!((queue.places(), queue.len(), queue.reclaim(|_| panic!("it is in use"))), (1, 0, 0));
        // Somebody who began before puts one more in.
        assert_eq!((in_use[0].pop(), in_use[0].push(3)), (Some(1), Ok(())));
        drop(in_use);
        let mut left = Vec::new();
        assert_eq!((queue.reclaim(|element| left.push(element)), left), (2, vec![2, 3]));
        queue.replace_places(0);
        assert_eq!((queue.push(4), queue.reclaim(|_| ()), queue.places()), (Err(4), 1, 0));
    }

    #[test]
    fn threads_lose_nothing_while_places_become_more_and_fewer() {
        let (queue, sum) = (Rings::new(), AtomicUsize::new(0));
        queue.add_places(4);
        (0..4).for_each(|element| assert_eq!(queue.push(element), Ok(())));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        if let Some(element) = queue.pop() {
                            assert_eq!(queue.push(element), Ok(()));
                        }
                    }
                });
            }
            for round in 0..1000 {
                if round % 100 == 0 {
                    queue.replace_places(4)
                } else {
                    queue.add_places(1)
                }
                queue.reclaim(|element| assert_eq!(queue.push(element), Ok(())));
            }
        });
        queue.reclaim(|element| assert_eq!(queue.push(element), Ok(())));
        while let Some(element) = queue.pop() {
            sum.fetch_add(1 << (8 * element), Ordering::Relaxed);
        }
        assert_eq!(sum.into_inner(), 0x0101_0101, "each of the four once");
    }
}
