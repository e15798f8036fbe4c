//! What root gives up where it is confined: the privileges by which it could undo its confinement.
//!
//! Without them, root is the owner of the system's files and nothing more: Landlock has the last word on which of those are
//! opened. With them it could load a module, read the memory of any process, or set the machine's network.

use std::io;

use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

/// What installing packages and running services as other users takes: about what root has in a container.
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

/// Takes from the calling thread, and from what it starts or becomes, all but a few privileges.
///
/// A program that root executes would have them back, but for the flag that Landlock asks for ("no new privileges").
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
