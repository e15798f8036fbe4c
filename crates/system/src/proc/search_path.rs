//! The lookup of programs that ralph runs with all rights of its user.

use std::{
    env,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use crate::{
    real_paths::RealPaths,
    sandbox::{UserEnvironment, shared_writable_places},
};

/// A program, and the directories in which it looks for others.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TrustedProgram {
    pub(super) program: PathBuf,
    pub(super) path: OsString,
}

/// Finds `program` in `PATH` without the directories that an agent in `project` may write to, even in a sandbox: a program
/// there may be the agent's. Returns `None` if it is nowhere else.
pub(super) fn trusted_program(program: &OsStr, project: &Path) -> Option<TrustedProgram> {
    let path = env::var_os("PATH")?;
    let home = env::home_dir();
    let environment = UserEnvironment {
        home: home.as_deref().and_then(Path::to_str),
        variable: &|name| env::var(name).ok(),
    };
    let begun_in = env::current_dir().ok();
    let repository = project.ancestors().find(|above| above.join(".git").exists());
    let places = shared_writable_places(project, &environment);
    let writable = places.into_iter().chain(begun_in);
    let writable = writable.chain([repository.unwrap_or(project).to_owned()]);
    outside_of(writable, &path, program)
}

fn outside_of(writable: impl Iterator<Item = PathBuf>, path: &OsStr, program: &OsStr) -> Option<TrustedProgram> {
    let mut real = RealPaths::default();
    let writable = writable.filter_map(|place| real.existing(&place));
    // A project in the root directory contains all programs.
    let writable: Vec<PathBuf> = writable.filter(|place| place.parent().is_some()).collect();
    let trusted: Vec<PathBuf> = env::split_paths(path)
        .filter(|directory| directory.is_absolute())
        // A link that an agent exchanges later leads nowhere else.
        .filter_map(|directory| real.existing(&directory))
        .filter(|directory| !writable.iter().any(|place| directory.starts_with(place)))
        .collect();
    let path = env::join_paths(trusted).ok()?;
    let program = which::which_in(program, Some(&path), "/").ok()?;
    Some(TrustedProgram { program, path })
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::{PermissionsExt, symlink},
    };

    use super::*;

    #[test]
    fn programs_are_not_looked_for_where_agents_write() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let [project, system, own] = ["project", "system", "project/bin"].map(|name| root.join(name));
        for place in [&project, &system, &own] {
            fs::create_dir(place).unwrap();
        }
        let [inwards, outwards] = [root.join("inwards"), project.join("outwards")];
        symlink(&own, &inwards).unwrap();
        symlink(&system, &outwards).unwrap();
        let all = [
            own.as_path(),
            &inwards,
            Path::new("bin"),
            &root.join("missing"),
            &outwards,
            &system,
        ];
        let path = env::join_paths(all).unwrap();
        let found = || outside_of([project.clone()].into_iter(), &path, OsStr::new("git"));
        let add = |directory: &Path, mode: u32| {
            let program = directory.join("git");
            fs::write(&program, "").unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(mode)).unwrap();
        };

        add(&own, 0o755);
        assert_eq!(found(), None, "there is no other");
        add(&system, 0o644);
        assert_eq!(found(), None, "it is no program");
        add(&system, 0o755);
        let trusted = TrustedProgram {
            program: system.join("git"),
            path: env::join_paths([&system, &system]).unwrap(),
        };
        assert_eq!(found(), Some(trusted));
    }
}
