//! The socket rights of a program whose network is restricted: TCP only. Landlock restricts the port.
//!
//! Landlock only covers ordinary TCP connections. Here seccomp refuses every other socket that leaves the machine or
//! reaches another program on it. It is a list of what is allowed, not of what is known to be bad: a new kind of socket
//! is refused.

use std::{collections::BTreeMap, env::consts::ARCH, io};

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen::Dword, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter,
};

use super::Network;

type SeccompRules = BTreeMap<i64, Vec<SeccompRule>>;
type Result<T> = std::result::Result<T, seccompiler::BackendError>;

/// The bits of a socket's type argument that are its type; the others are flags.
const TYPE_MASK: u64 = 0xf;

/// Restricts the calling thread, and what it starts or becomes.
pub(super) fn restrict(network: Network) -> io::Result<()> {
    let arch = ARCH
        .try_into()
        .map_err(|_| io::Error::other(format!("sockets cannot be restricted on {ARCH}")))?;
    let program: Result<BpfProgram> = rules(network).and_then(|rules| {
        let refused = SeccompAction::Errno(libc::EACCES.unsigned_abs());
        SeccompFilter::new(rules, SeccompAction::Allow, refused, arch)?.try_into()
    });
    let program = program.map_err(io::Error::other)?;
    apply_filter(&program).map_err(io::Error::other)
}

fn rules(network: Network) -> Result<SeccompRules> {
    let mut rules = SeccompRules::new();
    let mut refuse = |call: libc::c_long, when: Vec<SeccompRule>| {
        rules.insert(call, when.clone());
        // The same calls of the kernel's x32 interface, where it exists.
        if cfg!(target_arch = "x86_64") {
            rules.insert(X32 | x32_number(call), when);
        }
    };
    refuse(libc::SYS_socket, new_sockets()?);
    refuse(
        libc::SYS_socketpair,
        other_types(1, &[libc::SOCK_STREAM, libc::SOCK_SEQPACKET])?,
    );
    // These connect as well, unseen by Landlock.
    refuse(libc::SYS_sendto, fast_open(3)?);
    refuse(libc::SYS_sendmsg, fast_open(2)?);
    refuse(libc::SYS_sendmmsg, fast_open(3)?);
    // io_uring could do everything above without a system call for each.
    for call in [
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
    ] {
        refuse(call, Vec::new());
    }
    if !network.listens {
        refuse(libc::SYS_listen, Vec::new());
    }
    Ok(rules)
}

const X32: libc::c_long = 0x4000_0000;

fn x32_number(call: libc::c_long) -> libc::c_long {
    match call {
        libc::SYS_sendmsg => 518,
        libc::SYS_sendmmsg => 538,
        same => same,
    }
}

/// Returns when a socket is refused: unless it is for TCP.
fn new_sockets() -> Result<Vec<SeccompRule>> {
    let mut refused = vec![none_of(0, &[libc::AF_INET, libc::AF_INET6])?];
    refused.extend(other_types(1, &[libc::SOCK_STREAM])?);
    // Landlock does not treat other stream protocols, such as MPTCP, as TCP.
    refused.push(none_of(2, &[libc::IPPROTO_IP, libc::IPPROTO_TCP])?);
    Ok(refused)
}

/// Returns when a socket type is refused: unless it is allowed. A pair of datagram sockets could be connected
/// elsewhere.
fn other_types(argument: u8, allowed: &[i32]) -> Result<Vec<SeccompRule>> {
    let others = (0..=TYPE_MASK).filter(|kind| !allowed.iter().any(|known| u64::from(known.unsigned_abs()) == *kind));
    others
        .map(|kind| rule(argument, SeccompCmpOp::MaskedEq(TYPE_MASK), kind))
        .collect()
}

fn fast_open(argument: u8) -> Result<Vec<SeccompRule>> {
    let flag = u64::from(libc::MSG_FASTOPEN.unsigned_abs());
    Ok(vec![rule(argument, SeccompCmpOp::MaskedEq(flag), flag)?])
}

fn none_of(argument: u8, allowed: &[i32]) -> Result<SeccompRule> {
    let conditions = allowed
        .iter()
        .map(|value| SeccompCondition::new(argument, Dword, SeccompCmpOp::Ne, u64::from(value.unsigned_abs())));
    SeccompRule::new(conditions.collect::<Result<Vec<_>>>()?)
}

fn rule(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompRule> {
    SeccompRule::new(vec![SeccompCondition::new(argument, Dword, operator, value)?])
}
