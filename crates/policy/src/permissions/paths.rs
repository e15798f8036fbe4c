//! Paths as rules see them: absolute, without `..`, and with symlinks followed.

use super::shell::HOLE;

/// Access to directories and symlinks, so that this module needs no disk.
pub trait PathResolver {
    /// The canonical path of the project, in which agents work.
    fn project(&self) -> &str;
    /// The user's home directory.
    fn home(&self) -> Option<&str>;
    /// Follows the symlinks in an absolute path, also in the directories of a file that does not exist; `None` if the
    /// path cannot be resolved.
    fn canonical(&self, absolute: &str) -> Option<String>;
    fn is_directory(&self, absolute: &str) -> bool;
}

/// The forms of a path that an agent names: as written, and with symlinks followed.
pub(super) fn forms(path: &str, world: &dyn PathResolver) -> Vec<String> {
    let absolute = absolute(path, world);
    if absolute.contains(HOLE) {
        return vec![absolute];
    }
    let mut forms = vec![without_dots(&absolute)];
    forms.extend(world.canonical(&absolute));
    forms.dedup();
    forms
}

/// Devices that keep nothing: to read or write them uses no file.
pub(super) const DEVICES: [&str; 6] = [
    "/dev/null",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/tty",
    "/dev/zero",
];

/// Whether a path leads to a file of the project, or to no file at all.
pub(super) fn is_in_project(path: &str, world: &dyn PathResolver) -> bool {
    let is_below = |form: &String| {
        let rest = form.strip_prefix(world.project());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) && !form.contains(HOLE)
    };
    DEVICES.contains(&path) || path == "-" || forms(path, world).iter().all(is_below)
}

fn absolute(path: &str, world: &dyn PathResolver) -> String {
    let path = path.strip_prefix("file://").unwrap_or(path);
    match (path.strip_prefix('~'), world.home()) {
        (Some(""), Some(home)) => home.to_owned(),
        (Some(rest), Some(home)) if rest.starts_with('/') => format!("{home}{rest}"),
        // The home directory of another user may be anywhere.
        (Some(_), _) => format!("{HOLE}/{path}"),
        (None, _) if path.starts_with(['/', HOLE]) => path.to_owned(),
        (None, _) => format!("{}/{path}", world.project()),
    }
}

/// The absolute pattern of a rule: `//` starts at the root, `~/` at the home directory, anything else at the project. A
/// bare name matches anywhere in the project. A directory stands for what is in it.
pub(super) fn pattern(spec: &str, world: &dyn PathResolver) -> String {
    let project = world.project();
    let absolute = match spec {
        _ if spec.starts_with("//") => spec[1..].to_owned(),
        _ if spec == "~" || spec.starts_with("~/") => format!("{}{}", world.home().unwrap_or("/"), &spec[1..]),
        _ if spec.starts_with('/') => format!("{project}{spec}"),
        _ => match spec.strip_prefix("./") {
            Some(rest) => format!("{project}/{rest}"),
            None if spec.contains('/') => format!("{project}/{spec}"),
            None => format!("{project}/**/{spec}"),
        },
    };
    let place = without_dots(&absolute);
    match world.is_directory(&place) {
        true => place + "/**",
        false => place,
    }
}

fn without_dots(path: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => _ = names.pop(),
            name => names.push(name),
        }
    }
    format!("/{}", names.join("/"))
}
