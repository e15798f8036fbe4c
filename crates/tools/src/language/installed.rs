//! Checks whether the program of a language server is installed.
//!
//! Up to version 6, TypeScript has a separate server program `tsserver`, which typescript-language-server uses. From
//! version 7 on, the compiler itself speaks the protocol.

use std::path::{Path, PathBuf};

use ralph_system::files::{self, MANIFEST_CAP_BYTES};
use serde_json::Value;

use super::table::{LanguageServer, TSC};

/// The first version of TypeScript whose compiler is a language server.
const SERVING: u32 = 7;

/// The server as it is started for `project`; `None` if its program is not installed.
pub fn installed(server: &LanguageServer, project: &Path) -> Option<LanguageServer> {
    let found = |command: &str| which::which_in(command, std::env::var_os("PATH"), project).ok();
    let mut server = server.clone();
    match server.command.as_str() {
        TSC => server.command = serving_compiler(project, found(TSC))?.to_str()?.to_owned(),
        command => _ = found(command)?,
    }
    Some(server)
}

/// The compiler of the project, or else the one on `PATH`, if it is a language server.
fn serving_compiler(project: &Path, on_path: Option<PathBuf>) -> Option<PathBuf> {
    let modules = project.join("node_modules");
    let own = modules.join(".bin").join(TSC);
    let (program, package) = match own.exists() {
        true => (own, modules.join("typescript")),
        false => {
            let program = on_path?;
            // `typescript/bin/tsc` in some `node_modules`, to which package managers link.
            let package = program.canonicalize().ok()?.parent()?.parent()?.to_owned();
            (program, package)
        }
    };
    (major_version(&package)? >= SERVING).then_some(program)
}

/// The major version of the TypeScript package in a directory.
fn major_version(package: &Path) -> Option<u32> {
    let text = files::read_text(&package.join("package.json"), MANIFEST_CAP_BYTES).ok()?;
    let manifest: Value = serde_json::from_str(&text).ok()?;
    let is_typescript = manifest["name"] == "typescript";
    let version = manifest["version"].as_str().filter(|_| is_typescript)?;
    version.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::language::built_in;

    /// Installs TypeScript below `node_modules` of a directory, as npm does, and returns its compiler.
    fn typescript(directory: &Path, version: &str) -> PathBuf {
        let modules = directory.join("node_modules");
        fs::create_dir_all(modules.join("typescript/bin")).expect("a directory");
        fs::create_dir_all(modules.join(".bin")).expect("a directory");
        let manifest = format!(r#"{{"name": "typescript", "version": "{version}"}}"#);
        fs::write(modules.join("typescript/package.json"), manifest).expect("a manifest");
        fs::write(modules.join("typescript/bin/tsc"), "").expect("a program");
        let link = modules.join(".bin/tsc");
        std::os::unix::fs::symlink("../typescript/bin/tsc", &link).expect("a link");
        link
    }

    #[test]
    fn the_compiler_of_typescript_is_a_server_from_version_7_on_and_that_of_the_project_comes_first() {
        let directory = |version: &str| {
            let directory = tempfile::tempdir().expect("a directory");
            let compiler = typescript(directory.path(), version);
            (directory, compiler)
        };
        let ((new, new_compiler), (old, old_compiler)) = (directory("7.0.2"), directory("5.9.3"));
        let (none, preview) = (
            tempfile::tempdir().expect("a directory"),
            directory("7.1.0-dev.20261021.1"),
        );
        for (project, on_path, chosen) in [
            (&new, None, Some(&new_compiler)),
            (&new, Some(&old_compiler), Some(&new_compiler)),
            (&old, Some(&new_compiler), None),
            (&none, Some(&new_compiler), Some(&new_compiler)),
            (&none, Some(&old_compiler), None),
            (&none, None, None),
            (&preview.0, None, Some(&preview.1)),
        ] {
            let found = serving_compiler(project.path(), on_path.cloned());
            assert_eq!(found.as_ref(), chosen, "{on_path:?}");
        }
        let tsc = built_in().into_iter().find(|server| server.name == TSC).expect("a row");
        assert_eq!(tsc.args, ["--lsp", "--stdio"]);
        let server = installed(&tsc, new.path()).expect("it is there");
        assert_eq!(Path::new(&server.command), new_compiler);
        assert_eq!(installed(&tsc, old.path()), None);
    }
}
