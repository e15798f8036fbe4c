//! Confinement: the file, signal and socket rights of a program and everything that it ever starts.
//!
//! A thread of the guard confines itself and starts the program, which inherits the confinement and cannot shed it by
//! changing its session, environment or parent. The guard's other threads stay free: the guard has to end what it
//! guards.
//!
//! A Landlock rule allows access below a path and cannot exclude anything below it. A path is therefore hidden by
//! allowing everything beside it. The calls that Landlock does not cover are refused by seccomp, or held for a mediator
//! (`mediation`); root also gives up the privileges that would let it undo the confinement (`privileges`).

use std::{
    collections::BTreeSet,
    fs, io,
    net::{Ipv4Addr, TcpStream},
    path::{Path, PathBuf},
    thread,
};

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, LandlockStatus, PathBeneath, PathFd, RestrictionStatus,
    Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

use nix::{
    errno::Errno,
    sys::prctl,
    unistd::{Pid, getpid},
};

use super::{Confinement, ConfinementLevel, Network, OnRefused, mediation, mounts::leave_queues, privileges};
use crate::real_paths::RealPaths;

/// The newest Landlock version whose rights were tested. Older kernels have fewer of them.
const KNOWN: ABI = ABI::V7;

/// Returns how well this kernel confines.
pub(super) fn level() -> ConfinementLevel {
    // The crate reports the version only when a thread restricts itself, so a short-lived thread gives up a right.
    let status = in_thread(|| {
        let ruleset = Ruleset::default().handle_access(AccessFs::MakeBlock)?.create()?;
        ruleset.restrict_self()
    });
    match status {
        Ok(Ok(status)) => level_of(&status),
        Ok(Err(_)) | Err(_) => ConfinementLevel::None,
    }
}

/// Whether calls of a program can be held for a mediator.
pub(super) fn mediates() -> bool {
    let held = in_thread(|| {
        prctl::set_no_new_privs()?;
        mediation::hold(&Network::default())
    });
    matches!(held, Ok(Ok(_)))
}

/// Calls `work` in a thread confined to `confinement`, in which no call is held.
///
/// # Errors
/// If the system would confine by less than is required; `work` was not called then. If no thread can be started.
pub(super) fn confined<T: Send>(confinement: &Confinement, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    in_thread(|| {
        confine_this_thread(confinement)?;
        Ok(work())
    })?
}

/// Calls `start` in a thread confined to `confinement`; everything that `start` starts is confined as well, and can
/// connect to other programs below `ralph`. Calls that are refused are reported to `on_refused`, also after this returns.
///
/// # Errors
/// As [`confined`].
pub(super) fn start_confined<T: Send>(
    confinement: &Confinement,
    ralph: Pid,
    on_refused: OnRefused,
    start: impl FnOnce() -> T + Send,
) -> io::Result<T> {
    // A thread's namespace is that of all that it starts: the mediator looks up memory by the same numbers as the program.
    in_thread(|| {
        leave_queues(); // where it may not, those of the user's programs stay in reach
        start_mediated(confinement, ralph, on_refused, start)
    })?
}

fn start_mediated<T: Send>(
    confinement: &Confinement,
    ralph: Pid,
    on_refused: OnRefused,
    start: impl FnOnce() -> T + Send,
) -> io::Result<T> {
    let Some(network) = &confinement.network else {
        return confined(confinement, start);
    };
    // In this thread: what the confined one starts would be confined as well.
    let mediator = mediation::start(network, &confinement.write, ralph, on_refused)?;
    in_thread(|| {
        confine_this_thread(confinement)?;
        match mediation::hold(network) {
            Ok(calls) => _ = mediator.send(calls),
            Err(error) if confinement.required => return Err(cannot_hold(&error)),
            Err(_) => {} // an older kernel, or a process above that holds calls
        }
        Ok(start())
    })?
}

/// Checks that a program can be held to all of `confinement`: a thread confined to it connects to the proxy.
///
/// # Errors
/// The reason why not.
pub(super) fn try_out(confinement: &Confinement) -> io::Result<()> {
    let port = confinement.network.as_ref().and_then(|network| network.proxy_port);
    start_confined(confinement, getpid(), OnRefused::ignored(), || match port {
        Some(port) => TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map(drop),
        None => Ok(()),
    })?
}

fn cannot_hold(error: &io::Error) -> io::Error {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EBUSY) => io::Error::other("a sandbox around this process already decides about its connections"),
        Some(Errno::EINVAL) => io::Error::other("deciding about connections needs Linux 5.19"),
        _ => io::Error::other(format!("connections cannot be decided about: {error}")),
    }
}

/// Confines the calling thread, and what it starts or becomes. No call is held yet.
fn confine_this_thread(confinement: &Confinement) -> io::Result<()> {
    restrict(confinement).map_err(io::Error::other)?;
    // After Landlock, which sets "no new privileges", so that no executed program regains them.
    privileges::give_up()?;
    match &confinement.network {
        Some(network) => mediation::refuse(network),
        None => Ok(()),
    }
}

fn in_thread<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new()
            .name("confined".to_owned())
            .spawn_scoped(scope, work)?;
        thread
            .join()
            .map_err(|_| io::Error::other("the thread that confines panicked"))
    })
}

fn restrict(confinement: &Confinement) -> Result<(), RulesetError> {
    let abi = confinement.abi.map_or(KNOWN, |abi| ABI::from(abi.min(KNOWN as i32)));
    let level = match confinement.required {
        true => CompatLevel::HardRequirement,
        false => CompatLevel::BestEffort,
    };
    let mut ruleset = Ruleset::default()
        .set_compatibility(level)
        .handle_access(AccessFs::from_all(abi))?;
    let is_closed = confinement
        .network
        .as_ref()
        .is_some_and(|network| network.proxy_port.is_some());
    if is_closed {
        // Without a rule for any port: the mediator connects and binds sockets.
        ruleset = ruleset.handle_access(AccessNet::ConnectTcp | AccessNet::BindTcp)?;
    }
    let scopes = Scope::from_all(abi);
    if !scopes.is_empty() {
        ruleset = ruleset.scope(scopes)?;
    }
    let mut rules = ruleset.create()?;
    // File names may be listed nearly everywhere: a rule covers everything below its path, and programs walk up to the
    // root. Device nodes may not be made: as root, a program could make one for the disk in a writable place.
    let devices = AccessFs::MakeBlock | AccessFs::MakeChar;
    let (names, reading, everything) = (
        AccessFs::ReadDir.into(),
        AccessFs::from_read(abi),
        AccessFs::from_all(abi) & !devices,
    );
    let readable = readable(&confinement.hidden, &confinement.write);
    let listed = covering(&real(&confinement.unlisted))
        .into_iter()
        .map(|path| (path, names));
    let read = readable.into_iter().chain(confinement.read.iter().cloned());
    let read = read.map(|path| (path, reading));
    let written = confinement.write.iter().map(|path| (path.clone(), everything));
    for (path, access) in listed.chain(read).chain(written) {
        // A path that is missing by now cannot be used either.
        let Ok(opened) = PathFd::new(&path) else { continue };
        let access = match path.is_dir() {
            true => access,
            false => access & AccessFs::from_file(abi),
        };
        if !access.is_empty() {
            rules = rules.add_rule(PathBeneath::new(opened, access))?;
        }
    }
    rules.restrict_self()?;
    Ok(())
}

/// Returns paths that cover everything that is not hidden, without symbolic links: access is decided where they lead.
///
/// Hidden paths inside a writable place are ignored: they stay readable anyway, and a place with thousands of temporary
/// files would need a rule for each file beside them.
fn readable(hidden: &[PathBuf], written: &[PathBuf]) -> BTreeSet<PathBuf> {
    let (mut hidden, written) = (real(hidden), real(written));
    hidden.retain(|path| !path.ancestors().any(|above| written.contains(above)));
    covering(&hidden)
}

/// Returns the canonical forms of the paths that exist.
fn real(paths: &[PathBuf]) -> BTreeSet<PathBuf> {
    let mut real = RealPaths::default();
    paths.iter().filter_map(|path| real.existing(path)).collect()
}

/// Returns paths that cover everything but `left_out`.
fn covering(left_out: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    let mut covered = BTreeSet::new();
    if left_out.is_empty() {
        covered.insert(PathBuf::from("/"));
    } else {
        let above = left_out.iter().flat_map(|path| path.ancestors().skip(1)).collect();
        read_beside(Path::new("/"), left_out, &above, &mut covered);
    }
    covered
}

/// `above` has the directories that the `hidden` paths are in.
fn read_beside(
    directory: &Path,
    hidden: &BTreeSet<PathBuf>,
    above: &BTreeSet<&Path>,
    readable: &mut BTreeSet<PathBuf>,
) {
    // A directory that ralph cannot list is useless to the program as well, which runs as the same user.
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if hidden.contains(&path) || entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
            continue;
        }
        if above.contains(path.as_path()) {
            read_beside(&path, hidden, above, readable);
        } else {
            readable.insert(path);
        }
    }
}

fn level_of(status: &RestrictionStatus) -> ConfinementLevel {
    match (&status.ruleset, &status.landlock) {
        (RulesetStatus::NotEnforced, _) => ConfinementLevel::None,
        (
            _,
            LandlockStatus::Available {
                effective_abi,
                kernel_abi,
            },
        ) => ConfinementLevel::Landlock {
            abi: kernel_abi.unwrap_or(*effective_abi as i32),
        },
        (_, _) => ConfinementLevel::None,
    }
}

#[cfg(test)]
mod tests {
    use std::{fs::OpenOptions, io::ErrorKind};

    use super::*;

    fn confinement(write: &Path, hidden: &Path) -> Confinement {
        Confinement {
            write: vec![write.to_owned()],
            read: Vec::new(),
            hidden: vec![hidden.to_owned()],
            unlisted: Vec::new(),
            required: true,
            abi: None,
            network: None,
            variables: Vec::new(),
        }
    }

    /// Whether this kernel has Landlock; says so if not, because the test then shows nothing.
    fn has_landlock() -> bool {
        let there = level() != ConfinementLevel::None;
        if !there {
            ralph_text::console::complain("NOT SHOWN: this kernel has no Landlock");
        }
        there
    }

    #[test]
    fn what_is_hidden_is_not_read_and_what_is_not_writable_not_written() {
        if !has_landlock() {
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().canonicalize().unwrap().join(name);
        for name in ["project", "secrets", "other"] {
            fs::create_dir(path(name)).unwrap();
            fs::write(path(name).join("file"), name).unwrap();
        }
        std::os::unix::fs::symlink(path("secrets"), path("way")).unwrap();
        confined(&confinement(&path("project"), &path("secrets")), || {
            let denied = |result: io::Result<()>| assert_eq!(result.unwrap_err().kind(), ErrorKind::PermissionDenied);
            denied(fs::read(path("secrets").join("file")).map(drop));
            denied(fs::read(path("way").join("file")).map(drop));
            denied(fs::write(path("other").join("file"), "x"));
            denied(fs::remove_file(path("other").join("file")));
            denied(
                OpenOptions::new()
                    .append(true)
                    .open(path("other").join("file"))
                    .map(drop),
            );
            // Linking and moving between places of different rights fails as if they were different devices.
            fs::hard_link(path("secrets").join("file"), path("project").join("link")).unwrap_err();
            fs::rename(path("secrets").join("file"), path("project").join("moved")).unwrap_err();
            assert_eq!(fs::read_to_string(path("other").join("file")).unwrap(), "other");
            fs::write(path("project").join("new"), "x").unwrap();
            fs::rename(path("project").join("new"), path("project").join("newer")).unwrap();
        })
        .unwrap();
        fs::write(path("other").join("file"), "this thread is as free as it was").unwrap();
        assert_eq!(fs::read_to_string(path("secrets").join("file")).unwrap(), "secrets");
    }

    #[test]
    fn what_is_unlisted_has_no_names_either_nor_has_what_is_above_it() {
        if !has_landlock() {
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().canonicalize().unwrap().join(name);
        for name in ["project", "sealed/inner", "other"] {
            fs::create_dir_all(path(name)).unwrap();
        }
        let confinement = Confinement {
            unlisted: vec![path("sealed")],
            ..confinement(&path("project"), &path("sealed"))
        };
        let is_listed = |path: &Path| fs::read_dir(path).is_ok();
        confined(&confinement, || {
            for (name, expected) in [
                ("sealed", false),
                ("sealed/inner", false),
                ("", false),
                ("other", true),
                ("project", true),
            ] {
                assert_eq!(is_listed(&path(name)), expected, "{name}");
            }
            assert!(path("sealed").exists());
        })
        .unwrap();
    }

    #[test]
    fn a_place_inside_what_is_hidden_can_be_writable() {
        if !has_landlock() {
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let scratch = place.path().join("state/scratch");
        fs::create_dir_all(&scratch).unwrap();
        fs::write(place.path().join("state/journal"), "x").unwrap();
        confined(&confinement(&scratch, &place.path().join("state")), || {
            assert!(fs::read(place.path().join("state/journal")).is_err());
            fs::write(scratch.join("file"), "x").unwrap();
            assert_eq!(fs::read(scratch.join("file")).unwrap(), b"x");
        })
        .unwrap();
    }

    #[test]
    fn nothing_is_looked_for_beside_what_a_written_place_shows_anyway() {
        let place = tempfile::tempdir().unwrap();
        let (written, hidden) = (place.path().to_owned(), [place.path().join("secrets")]);
        fs::create_dir(&hidden[0]).unwrap();
        assert_eq!(readable(&hidden, &[written]), BTreeSet::from([PathBuf::from("/")]));
        assert!(readable(&hidden, &[]).len() > 1);
    }

    #[test]
    fn an_older_kernel_confines_by_what_it_has() {
        if !has_landlock() {
            return;
        }
        let place = tempfile::tempdir().unwrap();
        for abi in 1..=KNOWN as i32 {
            let confinement = Confinement {
                abi: Some(abi),
                ..confinement(place.path(), Path::new("/nowhere"))
            };
            confined(&confinement, || {
                fs::write(place.path().join("file"), "x").unwrap();
                assert!(fs::write("/etc/ralph-was-here", "x").is_err(), "version {abi}");
            })
            .unwrap();
        }
    }
}
