//! The proxy's clients with their lists of hosts, and the refused connections.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::sandbox::hosts::AllowedHosts;

/// Most refused hosts that are reported. An agent could otherwise cause any number of reports.
pub(super) const MOST_ANNOUNCED: usize = 50;

/// A connection that was refused.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RefusedConnection {
    pub host: String,
    pub port: u16,
    /// The address of a listed name, if it is not public; `None` if the host is not listed.
    pub address: Option<IpAddr>,
}

/// A callback for each refused host, called once for each.
type RefusalCallback = Box<dyn Fn(RefusedConnection) + Send + Sync>;

pub(super) struct ProxyClients {
    /// The lists by the credentials of the client.
    lists: Mutex<BTreeMap<String, Arc<AllowedHosts>>>,
    announced: Mutex<BTreeSet<RefusedConnection>>,
    on_refused: RefusalCallback,
}

impl fmt::Debug for ProxyClients {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ProxyClients")
    }
}

impl ProxyClients {
    pub(super) fn new(on_refused: RefusalCallback) -> Self {
        Self {
            lists: Mutex::default(),
            announced: Mutex::default(),
            on_refused,
        }
    }

    /// Admits clients with `credentials`.
    pub(super) fn admit(&self, credentials: String, hosts: AllowedHosts) {
        lock(&self.lists).insert(credentials, Arc::new(hosts));
    }

    /// Returns the list of a client with `credentials`.
    pub(super) fn hosts(&self, credentials: Option<&str>) -> Option<Arc<AllowedHosts>> {
        lock(&self.lists).get(credentials?).cloned()
    }

    pub(super) fn announce(&self, refused: RefusedConnection) {
        let mut announced = lock(&self.announced);
        if announced.len() < MOST_ANNOUNCED && announced.insert(refused.clone()) {
            drop(announced);
            (self.on_refused)(refused);
        }
    }
}

/// Locks a mutex even if poisoned: the guarded values are consistent after every step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
