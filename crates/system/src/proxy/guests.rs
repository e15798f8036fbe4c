//! Who is let in, with which list of hosts; and what was refused.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::sandbox::hosts::Hosts;

/// Hosts that are told of as refused. An agent could have as many names refused as it likes.
pub(super) const MOST_TOLD: usize = 50;

/// A connection that was refused.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refused {
    pub host: String,
    pub port: u16,
    /// Where a listed name led that is not public; none if the host is not listed.
    pub address: Option<IpAddr>,
}

/// Is told of each host that is refused, once.
type OnRefused = Box<dyn Fn(Refused) + Send + Sync>;

pub(super) struct Guests {
    /// By what a client has to show.
    lists: Mutex<BTreeMap<String, Arc<Hosts>>>,
    told: Mutex<BTreeSet<Refused>>,
    on_refused: OnRefused,
}

impl fmt::Debug for Guests {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Guests")
    }
}

impl Guests {
    pub(super) fn new(on_refused: OnRefused) -> Self {
        Self {
            lists: Mutex::default(),
            told: Mutex::default(),
            on_refused,
        }
    }

    /// Lets in whoever shows `credentials`.
    pub(super) fn admit(&self, credentials: String, hosts: Hosts) {
        lock(&self.lists).insert(credentials, Arc::new(hosts));
    }

    /// The list of whoever shows `credentials`.
    pub(super) fn hosts(&self, credentials: Option<&str>) -> Option<Arc<Hosts>> {
        lock(&self.lists).get(credentials?).cloned()
    }

    pub(super) fn tell(&self, refused: Refused) {
        let mut told = lock(&self.told);
        if told.len() < MOST_TOLD && told.insert(refused.clone()) {
            drop(told);
            (self.on_refused)(refused);
        }
    }
}

/// What is behind these locks is whole after every step, whoever panicked.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
