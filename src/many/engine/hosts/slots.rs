//! The number of plans that each host runs for this batch at the moment.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The hosts of a batch, with their slots.
#[derive(Debug)]
pub(super) struct HostSlots {
    hosts: Vec<(String, u32)>,
    used: Mutex<BTreeMap<String, u32>>,
}

/// A slot of a host; it is free again when this is dropped.
#[derive(Debug)]
pub(super) struct HeldSlot {
    slots: Arc<HostSlots>,
    pub(super) host: String,
}

impl HostSlots {
    pub(super) fn new(hosts: &[(String, u32)]) -> Arc<HostSlots> {
        Arc::new(HostSlots {
            hosts: hosts.to_vec(),
            used: Mutex::default(),
        })
    }

    /// Whether every host is in `refused`.
    pub(super) fn are_all_in(&self, refused: &BTreeSet<String>) -> bool {
        self.hosts.iter().all(|(host, _)| refused.contains(host))
    }

    /// Takes a slot of `preferred`, if it has one, else of the host with the most free ones. `None` if no host has any.
    pub(super) fn take(self: &Arc<Self>, preferred: Option<&str>, refused: &BTreeSet<String>) -> Option<HeldSlot> {
        let mut used = self.used();
        let free = |host: &str, slots: u32| slots.saturating_sub(used.get(host).copied().unwrap_or(0));
        let hosts = self.hosts.iter().enumerate();
        let hosts = hosts.filter(|(_, (host, slots))| !refused.contains(host) && free(host, *slots) > 0);
        let (_, (host, _)) = hosts
            .max_by_key(|(at, (host, slots))| (Some(host.as_str()) == preferred, free(host, *slots), Reverse(*at)))?;
        *used.entry(host.clone()).or_default() += 1;
        Some(self.held(host))
    }

    /// Takes a slot of a host that has a job already, even if it has none left.
    pub(super) fn occupy(self: &Arc<Self>, host: &str) -> HeldSlot {
        *self.used().entry(host.to_owned()).or_default() += 1;
        self.held(host)
    }

    fn held(self: &Arc<Self>, host: &str) -> HeldSlot {
        HeldSlot {
            slots: Arc::clone(self),
            host: host.to_owned(),
        }
    }

    fn used(&self) -> MutexGuard<'_, BTreeMap<String, u32>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for HeldSlot {
    fn drop(&mut self) {
        if let Some(used) = self.slots.used().get_mut(&self.host) {
            *used = used.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_spread_over_hosts_and_return_to_the_one_they_had() {
        let slots = HostSlots::new(&[("one".to_owned(), 1), ("two".to_owned(), 2)]);
        let none = BTreeSet::new();
        let take = |preferred: Option<&str>| slots.take(preferred, &none);
        let first = take(None).unwrap();
        let second = take(None).unwrap();
        let third = take(None).unwrap();
        let hosts = [&first, &second, &third].map(|slot| slot.host.as_str());
        assert_eq!(hosts, ["two", "one", "two"]);
        assert!(take(Some("one")).is_none());
        drop((second, third));
        assert_eq!(take(Some("one")).unwrap().host, "one");
        let refused = BTreeSet::from(["two".to_owned()]);
        assert_eq!(slots.take(Some("two"), &refused).unwrap().host, "one");
        assert!(!slots.are_all_in(&refused));
        // A job of an earlier batch process counts, even above the limit.
        let known = [slots.occupy("one"), slots.occupy("one")];
        assert_eq!(take(Some("one")).unwrap().host, "two");
        drop(known);
        assert_eq!(take(Some("one")).unwrap().host, "one");
    }
}
