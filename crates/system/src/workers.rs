//! Threads that share work.

use std::{sync::mpsc, thread};

use parking_lot::Mutex;

/// Calls `work` with each item, on twice as many threads as there are processors, and `each` with each result as soon as it
/// is there.
///
/// Programs that all start at once start slowly, and run into deadlines that each would meet alone.
pub fn share<T: Send, R: Send>(
    items: impl Iterator<Item = T> + Send,
    work: impl Fn(T) -> R + Sync,
    each: impl FnMut(R),
) {
    let threads = 2 * thread::available_parallelism().map_or(1, usize::from);
    let items = Mutex::new(items);
    let (tell, done) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..threads {
            let (tell, items, work) = (tell.clone(), &items, &work);
            scope.spawn(move || {
                let next = || items.lock().next();
                while let Some(item) = next() {
                    _ = tell.send(work(item)); // the receiver lives until the last thread has ended
                }
            });
        }
        drop(tell);
        done.iter().for_each(each);
    });
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    use super::*;

    #[test]
    fn all_items_are_worked_on_but_not_all_at_once() {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = |item: usize| {
            most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
            thread::yield_now();
            now.fetch_sub(1, SeqCst);
            item
        };
        let mut results = Vec::new();
        share(0..1000, work, |item| results.push(item));
        results.sort_unstable();
        assert!(results.into_iter().eq(0..1000));
        let threads = 2 * thread::available_parallelism().map_or(1, usize::from);
        assert!((1..=threads).contains(&most.load(SeqCst)), "{most:?}");
    }
}
