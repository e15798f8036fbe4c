//! What a program may do with sockets where the network is not open: TCP, and nothing else. Landlock says to which port.
//!
//! Landlock knows TCP that is connected in the usual way. Whatever else leaves the machine or reaches another program on it is
//! refused here by seccomp, and by what is allowed rather than by what is known to be bad: a new kind of socket is refused, too.

use std::{collections::BTreeMap, env::consts::ARCH, io};

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen::Dword, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter,
};

use super::Network;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;
type Result<T> = std::result::Result<T, seccompiler::BackendError>;

/// The bits of a socket's type that are its type; the others are flags.
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

fn rules(network: Network) -> Result<Rules> {
    let mut rules = Rules::new();
    let mut refuse = |call: libc::c_long, when: Vec<SeccompRule>| {
        rules.insert(call, when.clone());
        // The same calls of the kernel's other interface for 64-bit programs, where it has that.
        if cfg!(target_arch = "x86_64") {
            rules.insert(X32 | x32_number(call), when);
        }
    };
    refuse(libc::SYS_socket, new_sockets()?);
    refuse(
        libc::SYS_socketpair,
        other_types(1, &[libc::SOCK_STREAM, libc::SOCK_SEQPACKET])?,
    );
    // These connect as well, where Landlock does not look.
    refuse(libc::SYS_sendto, fast_open(3)?);
    refuse(libc::SYS_sendmsg, fast_open(2)?);
    refuse(libc::SYS_sendmmsg, fast_open(3)?);
    // It would do everything above without a system call for each.
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

/// When a socket is refused: unless it is one for TCP.
fn new_sockets() -> Result<Vec<SeccompRule>> {
    let mut refused = vec![none_of(0, &[libc::AF_INET, libc::AF_INET6])?];
    refused.extend(other_types(1, &[libc::SOCK_STREAM])?);
    // Other protocols for streams, such as MPTCP, are none to Landlock.
    refused.push(none_of(2, &[libc::IPPROTO_IP, libc::IPPROTO_TCP])?);
    Ok(refused)
}

/// When a type of socket is refused: unless it is one of these. A pair of datagram sockets could be connected anew.
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
