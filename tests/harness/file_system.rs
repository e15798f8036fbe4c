//! Small file systems, for tests of disks that fill up.

use super::{Program, SOON, Sandbox, skipped};

/// Runs the program with a separate file system at `place`, which the program's own processes see; `None` if this user
/// may not mount one.
pub fn on_a_file_system(program: Program, sandbox: &Sandbox, place: &str, options: &str) -> Option<Program> {
    let script = format!("mount -t tmpfs -o {options} none '{place}' && exec \"$@\"");
    let ways: [&[&str]; 2] = [&["unshare", "--mount"], &["unshare", "--map-root-user", "--mount"]];
    let wrappers = ways.map(|way| [way, &["sh", "-c", &script, "sh"]].concat());
    let tries = wrappers
        .each_ref()
        .map(|way| sandbox.program("true").under(way).run(SOON));
    match tries.iter().position(|tried| tried.code() == Some(0)) {
        Some(way) => Some(program.under(&wrappers[way])),
        None => {
            skipped(&format!("a test of a full disk: {}", tries[0].stderr.trim()));
            None
        }
    }
}
