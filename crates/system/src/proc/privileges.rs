//! The privileges that confined root gives up, because it could undo its confinement by them.
//!
//! Without them, root is only the owner of the system's files, and Landlock decides which of those are opened. With
//! them it could load a module, read the memory of any process, or configure the machine's network.

use std::io;

use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

/// The privileges for installing packages and running services as other users: about those of root in a container.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETPCAP)
    .union(CapabilitySet::SETFCAP)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::SYS_CHROOT)
    .union(CapabilitySet::AUDIT_WRITE);

/// Drops all privileges but `KEPT` from the calling thread, and from what it starts or becomes.
///
/// A program that root executes would regain them, were it not for the "no new privileges" flag that Landlock requires.
pub(super) fn give_up() -> io::Result<()> {
    let CapabilitySets {
        effective,
        permitted,
        inheritable,
    } = capabilities(None)?;
    if KEPT.contains(permitted | inheritable) {
        return Ok(());
    }
    let fewer = CapabilitySets {
        effective: effective & KEPT,
        permitted: permitted & KEPT,
        inheritable: inheritable & KEPT,
    };
    Ok(set_capabilities(None, fewer)?)
}
