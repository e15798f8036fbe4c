//! The seccomp filters of a confined program: the system calls that fail, and those that are held for the mediator.
//!
//! A restricted network allows stream sockets only. The filter lists what is allowed, not what is known to be bad: a new
//! kind of socket is refused.

use std::{collections::BTreeMap, env::consts::ARCH, io};

use nix::libc;
use ralph_seccomp::HeldCalls;
use seccompiler::{
    BpfProgram, SeccompAction,
    SeccompCmpArgLen::{Dword, Qword},
    SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, apply_filter,
};

use crate::proc::Network;

type SeccompRules = BTreeMap<i64, Vec<SeccompRule>>;
type Result<T> = std::result::Result<T, seccompiler::BackendError>;

/// The bits of a socket's type argument that are its type; the others are flags.
const TYPE_MASK: u64 = 0xf;
/// The bit that marks calls by the x32 interface of x86-64.
pub(super) const X32: libc::c_long = 0x4000_0000;
/// `which` of `setpriority` and `ioprio_set` that means all processes of a user.
const PRIORITY_OF_USER: u64 = libc::PRIO_USER as u64;
const IO_PRIORITY_OF_USER: u64 = 3;

/// Makes calls of the calling thread, and of what it starts or becomes, fail.
pub(in crate::proc) fn refuse(network: &Network) -> io::Result<()> {
    let refused = SeccompAction::Errno(libc::EACCES.unsigned_abs());
    let program = compiled(refused_calls(network), refused)?;
    apply_filter(&program).map_err(io::Error::other)
}

/// Holds calls of the calling thread, and of what it starts or becomes.
pub(in crate::proc) fn hold(network: &Network) -> io::Result<HeldCalls> {
    // `seccompiler` has no action that holds a call. It compiles another one, which is replaced.
    let placeholder = SeccompAction::Trace(0);
    let returned = u32::from(placeholder.clone());
    let program = compiled(held_calls(network), placeholder)?;
    let held = program.iter().map(|instruction| libc::sock_filter {
        code: instruction.code,
        jt: instruction.jt,
        jf: instruction.jf,
        k: match (u32::from(instruction.code), instruction.k) {
            (RETURN, value) if value == returned => libc::SECCOMP_RET_USER_NOTIF,
            (_, value) => value,
        },
    });
    ralph_seccomp::hold(&held.collect::<Vec<_>>())
}

const RETURN: u32 = libc::BPF_RET | libc::BPF_K;

fn compiled(rules: Result<SeccompRules>, action: SeccompAction) -> io::Result<BpfProgram> {
    let arch = ARCH
        .try_into()
        .map_err(|_| io::Error::other(format!("system calls cannot be restricted on {ARCH}")))?;
    let program: Result<BpfProgram> =
        rules.and_then(|rules| SeccompFilter::new(rules, SeccompAction::Allow, action, arch)?.try_into());
    program.map_err(io::Error::other)
}

/// Adds a call, and the same call of the kernel's x32 interface, where it exists.
fn add(rules: &mut SeccompRules, call: libc::c_long, when: Vec<SeccompRule>) {
    rules.insert(call, when.clone());
    if cfg!(target_arch = "x86_64") {
        rules.insert(X32 | x32_number(call), when);
    }
}

fn x32_number(call: libc::c_long) -> libc::c_long {
    match call {
        libc::SYS_sendmsg => 518,
        libc::SYS_sendmmsg => 538,
        same => same,
    }
}

fn refused_calls(network: &Network) -> Result<SeccompRules> {
    let mut rules = SeccompRules::new();
    // io_uring could connect without a system call for each connection. Keys of the user's session are the kernel's.
    for call in [
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
        libc::SYS_add_key,
        libc::SYS_request_key,
        libc::SYS_keyctl,
    ] {
        add(&mut rules, call, Vec::new());
    }
    let whole_user = |user| rule(0, SeccompCmpOp::Eq, user);
    add(&mut rules, libc::SYS_setpriority, vec![whole_user(PRIORITY_OF_USER)?]);
    add(&mut rules, libc::SYS_ioprio_set, vec![whole_user(IO_PRIORITY_OF_USER)?]);
    if network.proxy_port.is_some() {
        add(&mut rules, libc::SYS_socket, new_sockets()?);
        let pairs = other_types(1, &[libc::SOCK_STREAM, libc::SOCK_SEQPACKET])?;
        add(&mut rules, libc::SYS_socketpair, pairs);
        // These connect as well, and their addresses are in memory.
        add(&mut rules, libc::SYS_sendto, fast_open(3)?);
        add(&mut rules, libc::SYS_sendmsg, fast_open(2)?);
        add(&mut rules, libc::SYS_sendmmsg, fast_open(3)?);
    }
    Ok(rules)
}

fn held_calls(network: &Network) -> Result<SeccompRules> {
    let mut rules = SeccompRules::new();
    add(&mut rules, libc::SYS_connect, Vec::new());
    if network.proxy_port.is_some() {
        add(&mut rules, libc::SYS_bind, Vec::new());
        add(&mut rules, libc::SYS_listen, Vec::new());
    }
    // Memory that another process shares by number.
    add(&mut rules, libc::SYS_shmat, Vec::new());
    // Calls that change another process, by the argument that names it. 0 is the caller itself.
    let other = |argument| SeccompCondition::new(argument, Dword, SeccompCmpOp::Ne, 0);
    let changes = SeccompCondition::new(2, Qword, SeccompCmpOp::Ne, 0)?;
    add(
        &mut rules,
        libc::SYS_prlimit64,
        vec![SeccompRule::new(vec![other(0)?, changes])?],
    );
    for (call, user) in [
        (libc::SYS_setpriority, PRIORITY_OF_USER),
        (libc::SYS_ioprio_set, IO_PRIORITY_OF_USER),
    ] {
        let no_user = SeccompCondition::new(0, Dword, SeccompCmpOp::Ne, user)?;
        add(&mut rules, call, vec![SeccompRule::new(vec![no_user, other(1)?])?]);
    }
    for call in [
        libc::SYS_sched_setaffinity,
        libc::SYS_sched_setattr,
        libc::SYS_sched_setparam,
        libc::SYS_sched_setscheduler,
    ] {
        add(&mut rules, call, vec![SeccompRule::new(vec![other(0)?])?]);
    }
    Ok(rules)
}

/// Returns when a socket is refused: unless it is a stream of TCP or between programs of this machine.
fn new_sockets() -> Result<Vec<SeccompRule>> {
    let mut refused = vec![none_of(0, &[libc::AF_INET, libc::AF_INET6, libc::AF_UNIX])?];
    // Packets in order are a stream of sockets with a path only: for TCP's families, such a socket would be SCTP.
    refused.extend(other_types(1, &[libc::SOCK_STREAM, libc::SOCK_SEQPACKET])?);
    // Landlock does not treat other stream protocols, such as MPTCP, as TCP.
    refused.push(none_of(2, &[libc::IPPROTO_IP, libc::IPPROTO_TCP])?);
    for family in [libc::AF_INET, libc::AF_INET6] {
        refused.push(SeccompRule::new(vec![
            SeccompCondition::new(0, Dword, SeccompCmpOp::Eq, u64::from(family.unsigned_abs()))?,
            SeccompCondition::new(
                1,
                Dword,
                SeccompCmpOp::MaskedEq(TYPE_MASK),
                u64::from(libc::SOCK_SEQPACKET.unsigned_abs()),
            )?,
        ])?);
    }
    Ok(refused)
}

/// Returns when a socket type is refused: unless it is allowed. A datagram socket sends to any address without being
/// connected.
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
