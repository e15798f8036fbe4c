//! Programs that run a command in an environment that they prepare, such as those of package managers.

use super::{
    programs::{has, takes_value},
    words::ShellWord,
};

/// Programs that run a command in an environment that they prepare. Rules that allow are for the whole; the command
/// inside may only be denied or asked about.
pub(super) struct Launcher {
    /// Names, with their subcommands, separated by `|`.
    names: &'static str,
    /// The number of arguments before the command that are not options.
    positional: usize,
    /// Options with a value.
    valued: &'static str,
    /// Options whose value is a script; `*` if all arguments are scripts.
    scripts: &'static str,
}

const fn launcher(names: &'static str, positional: usize, valued: &'static str, scripts: &'static str) -> Launcher {
    Launcher {
        names,
        positional,
        valued,
        scripts,
    }
}

const LAUNCHERS: &[Launcher] = &[
    launcher(
        "uv run|uv tool run|uvx|pipx run",
        0,
        "--with --with-editable --with-requirements --python -p --project --directory --extra --group --env-file --from \
         --index-url --spec",
        "",
    ),
    launcher(
        "npx|npm exec|npm x|pnpm exec|pnpm dlx|pnpx|yarn exec|yarn dlx|bunx|bun x",
        0,
        "-p --package -w --workspace --prefix -C --dir --filter -F --cwd",
        "-c --call",
    ),
    launcher(
        "poetry run|pipenv run|rye run|hatch run|pdm run|pixi run|bundle exec|rbenv exec|pyenv exec|devbox run",
        0,
        "-C --directory -P --project -e --env --gemfile",
        "",
    ),
    launcher(
        "conda run|mamba run|micromamba run",
        0,
        "-n --name -p --prefix --cwd",
        "",
    ),
    launcher(
        "mise exec|mise x|asdf exec|volta run|fnm exec",
        0,
        "-C --cd -j --jobs --using --node",
        "-c --command",
    ),
    launcher("strace|ltrace|unbuffer|chronic|rlwrap", 0, "-o -e -p -s -u -E -a", ""),
    launcher("flock|taskset|chrt|chroot", 1, "-w -E -c", "-c"),
    launcher("vagrant ssh|gcloud compute ssh", 1, "--zone --project", "-c --command"),
    launcher(
        "nvm exec|direnv exec|aws-vault exec|faketime|setarch",
        1,
        "-d --duration",
        "",
    ),
    launcher("nix-shell", 0, "-I -A --attr", "--run --command"),
    launcher("nix develop|nix shell", 0, "-I", ""),
    launcher(
        "docker run|docker container run|podman run|nerdctl run|docker exec|docker container exec|podman exec|docker compose \
         exec|docker compose run|docker-compose exec|docker-compose run",
        1,
        "-v --volume -e --env --env-file -w --workdir -u --user -p --publish --name --network --mount --entrypoint \
         --platform --memory -m --cpus --gpus --label -l --add-host --hostname -h --restart --index",
        // A script for the shell of `--entrypoint`.
        "-c",
    ),
    launcher("kubectl exec|oc exec", 1, "-c --container -n --namespace --context", ""),
    launcher(
        "perf stat|perf record",
        0,
        "-e -o -F -p -C -r --event --output --repeat",
        "",
    ),
    launcher(
        "xvfb-run|fakeroot|dbus-run-session|caffeinate|proxychains|proxychains4|torsocks|catchsegv|dotenv|dotenvx run|doppler \
         run|op run|valgrind",
        0,
        "-s -n -e -f -l -i -b --server-args --server-num --error-file --log-file --tool -p --project --config -c -t -w",
        "",
    ),
    launcher(
        "hyperfine|concurrently|npm-run-all|watchexec|nodemon|cargo watch|adb shell",
        0,
        "",
        "*",
    ),
];

/// The launcher in `words`, and the place of its command or its own arguments.
pub(super) fn find_launcher(words: &[ShellWord], name: &str) -> Option<(&'static Launcher, usize)> {
    let launchers = LAUNCHERS.iter();
    let mut places = launchers.filter_map(|launcher| {
        let mut names = launcher.names.split('|');
        names
            .find_map(|names| launcher.begin(words, name, names))
            .map(|at| (launcher, at))
    });
    places.next()
}

/// Whether `name` launches other programs with some of its subcommands.
pub(super) fn is_launcher(name: &str) -> bool {
    let mut names = LAUNCHERS.iter().flat_map(|launcher| launcher.names.split('|'));
    names.any(|known| known.split_ascii_whitespace().next() == Some(name))
}

impl Launcher {
    /// The place behind `names` in `words`, whose program is `name`.
    fn begin(&self, words: &[ShellWord], name: &str, names: &str) -> Option<usize> {
        let mut names = names.split_ascii_whitespace();
        if names.next() != Some(name) {
            return None;
        }
        let mut at = 1;
        for known in names {
            at = self.behind_options(words, name, at);
            if words.get(at)?.value != known {
                return None;
            }
            at += 1;
        }
        Some(at)
    }

    fn behind_options(&self, words: &[ShellWord], name: &str, mut at: usize) -> usize {
        while let Some(word) = words.get(at).filter(|word| word.value.starts_with(['-', '+'])) {
            let value = word.value.as_str();
            if value == "--" {
                return at + 1;
            }
            let is_valued = has(self.valued, value) || has(self.scripts, value) || takes_value(name, value);
            at += if is_valued { 2 } else { 1 };
        }
        at
    }

    /// The command behind `at`: after the first `--`, or after the options and arguments of the launcher.
    pub(super) fn command<'w>(&self, words: &'w [ShellWord], name: &str, at: usize) -> &'w [ShellWord] {
        let mut first = self.behind_options(words, name, at);
        for _ in 0..self.positional {
            first = self.behind_options(words, name, first + 1);
        }
        let mut behind = words.iter().enumerate().skip(at).filter(|(_, word)| word.value == "--");
        let first = behind.next().map_or(first, |(place, _)| place + 1);
        words.get(first..).unwrap_or_default()
    }

    /// The scripts among the arguments.
    pub(super) fn scripts<'w>(&self, words: &'w [ShellWord]) -> impl Iterator<Item = &'w str> {
        let words = words.iter().map(|word| word.value.as_str());
        let mut before = "";
        words.filter_map(move |word| {
            let option = std::mem::replace(&mut before, word);
            match word.split_once('=') {
                _ if self.scripts == "*" => (!word.starts_with('-')).then_some(word),
                Some((name, script)) if has(self.scripts, name) => Some(script),
                _ => has(self.scripts, option).then_some(word),
            }
        })
    }
}
