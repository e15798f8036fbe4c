//! The arguments of pip that bring a missing module, and where pip may install.

use std::path::{Path, PathBuf};

use ralph_text::whole_words;
use toml::{Table, Value};

use super::{
    project_root::ProjectRoot,
    python::{ALSO, MANIFESTS, PYPROJECT, PYTEST},
};

/// Directories with lists of requirements.
const PLACES: [&str; 2] = ["", "requirements/"];

/// The arguments of pip that install a missing module: the list that names it, the extra or the group of the project, or the
/// module itself, if only the tests need it. Modules of the tests themselves are brought by nothing.
pub(crate) fn brought_by(project: &Path, module: &str) -> Option<String> {
    let root = ProjectRoot::new(project, "");
    let is_own = ["", ".py"].iter().any(|end| root.has(&format!("src/{module}{end}")));
    let manifest: Table = root.text(PYPROJECT).parse().unwrap_or_default();
    // The first of them describe a package that can be installed.
    let (packages, lists) = MANIFESTS.split_at(3);
    let is_package = manifest.contains_key("build-system") || manifest.contains_key("project") || root.has("setup.py");
    let own = if is_package { "--editable . " } else { "" };
    if is_own {
        return Some("--editable .".to_owned());
    }
    if let Some(path) = list_with(&root, module) {
        let own = if root.text(&path).contains("-e .") { "" } else { own };
        return Some(format!("{own}--requirement {path}"));
    }
    let extras = manifest
        .get("project")
        .and_then(|project| project.get("optional-dependencies"));
    if let Some((extra, _)) = group_with(extras, module) {
        return Some(format!("--editable '.[{extra}]'"));
    }
    // Older pips know no groups.
    if let Some((_, needed)) = group_with(manifest.get("dependency-groups"), module) {
        return Some(format!("{own}{}", needed.join(" ")));
    }
    let names = |names: &[&str]| {
        let mut texts = names.iter().map(|name| root.text(name));
        texts.any(|text| whole_words(&text, module).next().is_some())
    };
    match module != PYTEST && names(packages) {
        true => Some("--editable .".to_owned()),
        false => (module == PYTEST || names(lists) || names(&ALSO)).then(|| module.to_owned()),
    }
}

/// The first list of requirements that names a module.
fn list_with(root: &ProjectRoot<'_>, module: &str) -> Option<String> {
    let paths = PLACES.iter().flat_map(|place| {
        let names = root.entries(place).into_iter().map(|(name, _)| name);
        let lists = names.filter(|name| name.ends_with(".txt") && (!place.is_empty() || name.contains("requirements")));
        lists.map(move |name| format!("{place}{name}"))
    });
    paths
        .into_iter()
        .find(|path| root.text(path).lines().any(|line| is_for(line, module)))
}

/// The group of requirements that names a module, with its requirements as words of a shell.
fn group_with(groups: Option<&Value>, module: &str) -> Option<(String, Vec<String>)> {
    groups?.as_table()?.iter().find_map(|(name, needed)| {
        let needed: Vec<&str> = needed.as_array()?.iter().filter_map(Value::as_str).collect();
        let has_it = needed.iter().any(|needed| is_for(needed, module));
        has_it.then(|| {
            (
                name.clone(),
                needed.into_iter().map(|needed| format!("'{needed}'")).collect(),
            )
        })
    })
}

/// Whether a requirement, such as `python-dateutil>=2; python_version < "4"`, may bring a module: packages are named after
/// their modules, some with Python before it.
fn is_for(requirement: &str, module: &str) -> bool {
    let name = requirement
        .trim()
        .split(|sign: char| !(sign.is_alphanumeric() || "-_.".contains(sign)))
        .next();
    let plain = |name: &str| name.to_lowercase().replace(['_', '.'], "-");
    let (name, module) = (plain(name.unwrap_or_default()), plain(module));
    ["", "py", "python-"]
        .iter()
        .any(|before| name.strip_prefix(before) == Some(&*module))
}

/// The command that installs `what` with pip for `python`. A system that keeps its Python to itself (PEP 668) refuses it
/// outside of a virtual environment.
pub(crate) fn install_command(project: &Path, python: &str, what: &str) -> String {
    let found = which::which(python).unwrap_or_else(|_| PathBuf::from(python));
    let is_environment = found
        .parent()
        .and_then(Path::parent)
        .is_some_and(|top| top.join("pyvenv.cfg").exists());
    if is_environment || !belongs_to_system(&found) {
        return format!("{python} -m pip install {what}");
    }
    let ignored = ProjectRoot::new(project, "").text(".gitignore");
    let name = if ignored.contains("venv") && !ignored.contains(".venv") {
        "venv"
    } else {
        ".venv"
    };
    format!("{python} -m venv {name} && {name}/bin/python -m pip install {what}")
}

fn belongs_to_system(python: &Path) -> bool {
    let Ok(python) = python.canonicalize() else {
        return false;
    };
    let (Some(name), Some(top)) = (python.file_name(), python.parent().and_then(Path::parent)) else {
        return false;
    };
    top.join("lib").join(name).join("EXTERNALLY-MANAGED").exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_module_is_brought_by_what_names_it() {
        let project = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = project.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("src/click/__init__.py", "");
        write(
            "pyproject.toml",
            "[project]\nname = \"x\"\ndependencies = [\"attrs\"]\nclassifiers = [\"Framework :: Trio\"]\n\
             [project.optional-dependencies]\ntests = [\"pytest-cov>=3\", \"hypothesis\"]\n\
             [dependency-groups]\ndev = [\"freezegun>1\", { include-group = \"x\" }]\n",
        );
        write("tox.ini", "[testenv]\ndeps =\n    pretend\n");
        write(
            "requirements/tests.txt",
            "# trio\ntrio==0.31.0\nPyYAML\npython-dateutil\n",
        );
        for (module, expected) in [
            ("click", Some("--editable .")),
            ("attrs", Some("--editable .")),
            ("trio", Some("--editable . --requirement requirements/tests.txt")),
            ("yaml", Some("--editable . --requirement requirements/tests.txt")),
            ("dateutil", Some("--editable . --requirement requirements/tests.txt")),
            ("hypothesis", Some("--editable '.[tests]'")),
            ("pytest_cov", Some("--editable '.[tests]'")),
            ("freezegun", Some("--editable . 'freezegun>1'")),
            ("pretend", Some("pretend")),
            ("pytest", Some("pytest")),
            ("helpers", None),
        ] {
            assert_eq!(brought_by(project.path(), module).as_deref(), expected, "{module}");
        }
        write("requirements-dev.txt", "-e .[tests]\npytest==8\n");
        assert_eq!(
            brought_by(project.path(), "pytest").as_deref(),
            Some("--requirement requirements-dev.txt")
        );
    }

    #[test]
    fn a_python_of_the_system_installs_into_an_environment() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str| {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        };
        write("usr/bin/python3.11");
        let python = dir.path().join("usr/bin/python3.11");
        assert!(!belongs_to_system(&python));
        write("usr/lib/python3.11/EXTERNALLY-MANAGED");
        assert!(belongs_to_system(&python));
        let link = dir.path().join("python3");
        std::os::unix::fs::symlink(&python, &link).unwrap();
        assert!(belongs_to_system(&link));
    }
}
