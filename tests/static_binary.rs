//! The Linux release binary is statically linked and works where only git and a shell exist.
#![cfg(target_os = "linux")]

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use crate::harness::{SOON, Sandbox, skipped};

/// Names the binary; `.ci/other-systems` builds it.
const BINARY: &str = "RALPH_TEST_STATIC";
/// The type of the program header that names a dynamic linker.
const PT_INTERP: u32 = 3;
/// Enters the root as its superuser, without any variable that names a directory.
const ENTER: &str = "\
set -e
root=$1 PATH=$PATH:/usr/sbin:/sbin
mount --rbind /proc \"$root/proc\"
mount --rbind /dev \"$root/dev\"
mount -t tmpfs none \"$root/tmp\"
exec chroot \"$root\" /bin/sh -c '
  unset HOME TMPDIR XDG_CONFIG_HOME XDG_STATE_HOME XDG_DATA_HOME XDG_CACHE_HOME XDG_RUNTIME_DIR RALPH_STATE_DIR TERM LANG
  PATH=/bin RALPH_DEMO_SPEED=0 exec /bin/ralph demo --headless'";
/// A fallback for systems that forbid `ENTER`: only the `PATH` is confined to the root.
const PATH_ONLY: &str = "PATH=$1/bin RALPH_DEMO_SPEED=0 exec \"$1/bin/ralph\" demo --headless";

/// The types of the program headers of a 64-bit little-endian ELF file.
fn program_headers(elf: &[u8]) -> Vec<u32> {
    let number = |at: usize, bytes: usize| {
        let bytes = elf[at..at + bytes].iter().rev();
        bytes.fold(0, |number, byte| number << 8 | usize::from(*byte))
    };
    assert_eq!(elf[..6], *b"\x7fELF\x02\x01", "it is such a file");
    let (start, size, count) = (number(0x20, 8), number(0x36, 2), number(0x38, 2));
    let headers = (0..count).map(|index| number(start + index * size, 4));
    headers.map(|kind| u32::try_from(kind).expect("four bytes")).collect()
}

/// Copies a program and the shared libraries that it needs into the root.
fn bring(sandbox: &Sandbox, root: &Path, name: &str) {
    let program = env::split_paths(&env::var_os("PATH").expect("a PATH"))
        .map(|directory| directory.join(name))
        .find(|path| path.is_file())
        .unwrap_or_else(|| panic!("{name} is not on PATH"));
    fs::copy(&program, root.join("bin").join(name)).expect("a program");
    // `ldd` reports that a static program has none.
    let linked = sandbox.program("ldd").arg(&program).run(SOON).stdout;
    for library in linked
        .split_whitespace()
        .filter(|word| word.starts_with('/'))
        .map(PathBuf::from)
    {
        let copy = root.join(library.strip_prefix("/").expect("an absolute path"));
        fs::create_dir_all(copy.parent().expect("a directory")).expect("a directory of the root");
        fs::copy(&library, copy).expect("a library");
    }
}

/// The command prefix for a separate mount namespace; `None` if this machine permits none.
fn unshared(sandbox: &Sandbox) -> Option<&'static [&'static str]> {
    const PREFIXES: [&[&str]; 3] = [
        &["unshare", "--mount"],
        &["unshare", "--map-root-user", "--mount"],
        &["sudo", "-n", "unshare", "--mount"],
    ];
    let permits = |prefix: &&&[&str]| {
        let tried = ["sh", "-c", "mount -t tmpfs none /mnt"];
        sandbox
            .program(prefix[0])
            .args(&prefix[1..])
            .args(tried)
            .run(SOON)
            .code()
            == Some(0)
    };
    PREFIXES.iter().find(permits).copied()
}

#[test]
fn the_static_binary_runs_the_demo_in_a_root_that_holds_only_git_and_a_shell() {
    let Some(binary) = env::var_os(BINARY) else {
        skipped(&format!(
            "the static binary: {BINARY} names none, as `.ci/other-systems` does"
        ));
        return;
    };
    let headers = program_headers(&fs::read(&binary).expect("the binary"));
    assert!(
        !headers.is_empty() && !headers.contains(&PT_INTERP),
        "it is linked dynamically"
    );

    let sandbox = Sandbox::new();
    let root = sandbox.home().join("root");
    for directory in ["bin", "proc", "dev", "tmp"] {
        fs::create_dir_all(root.join(directory)).expect("the root");
    }
    for name in ["git", "sh"] {
        bring(&sandbox, &root, name);
    }
    fs::copy(&binary, root.join("bin/ralph")).expect("the binary");
    let (prefix, script): (&[&str], _) = match unshared(&sandbox) {
        Some(prefix) => (prefix, ENTER),
        None => {
            skipped("a root of its own: namespaces are refused on this machine, so only PATH is emptied");
            (&["env"], PATH_ONLY)
        }
    };
    let program = sandbox
        .program(prefix[0])
        .args(&prefix[1..])
        .args(["sh", "-c", script, "sh"]);
    let finished = program.arg(&root).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(finished.stdout.contains("ralph: done (verified)"), "{finished:?}");
    assert!(
        finished.stdout.contains("4 of 4 tasks done · 5 iterations"),
        "{finished:?}"
    );
}
