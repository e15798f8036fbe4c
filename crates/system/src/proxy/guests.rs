//! The proxy's clients with their lists of hosts, and the refused connections.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::sandbox::hosts::Hosts;

/// Most refused hosts that are reported. An agent could otherwise cause any number of reports.
pub(super) const MOST_TOLD: usize = 50;

/// A connection that was refused.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refused {
    pub host: String,
    pub port: u16,
    /// The address of a listed name, if it is not public; `None` if the host is not listed.
    pub address: Option<IpAddr>,
}

/// A callback for each refused host, called once for each.
type OnRefused = Box<dyn Fn(Refused) + Send + Sync>;

pub(super) struct Guests {
    /// The lists by the credentials of the client.
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

    /// Admits clients with `credentials`.
    pub(super) fn admit(&self, credentials: String, hosts: Hosts) {
        lock(&self.lists).insert(credentials, Arc::new(hosts));
    }

    /// Returns the list of a client with `credentials`.
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

/// Locks a mutex even if poisoned: the guarded values are consistent after every step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
