//! The proxy's clients, each with its list of hosts, and the refused connections.

use std::{collections::BTreeSet, fmt, net::IpAddr, sync::Arc};

use parking_lot::Mutex;

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

/// A program that may connect to the hosts of a list, through a listener of its own.
#[derive(Debug)]
pub(super) struct ProxyClient {
    pub(super) credentials: String,
    pub(super) hosts: AllowedHosts,
    pub(super) refusals: Arc<Refusals>,
}

/// Reports the connections that all clients together are refused.
pub(super) struct Refusals {
    announced: Mutex<BTreeSet<RefusedConnection>>,
    on_refused: RefusalCallback,
}

impl fmt::Debug for Refusals {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Refusals")
    }
}

impl Refusals {
    pub(super) fn new(on_refused: RefusalCallback) -> Self {
        Self {
            announced: Mutex::default(),
            on_refused,
        }
    }

    pub(super) fn announce(&self, refused: RefusedConnection) {
        // The set is consistent after every step, also if a callback has panicked.
        let mut announced = self.announced.lock();
        if announced.len() < MOST_ANNOUNCED && announced.insert(refused.clone()) {
            drop(announced);
            (self.on_refused)(refused);
        }
    }
}
