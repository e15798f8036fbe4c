//! Known programs: the files among their arguments, and whether they only read.
//!
//! A missing option makes ralph stricter and never laxer: its value counts as a file, and the word behind it may be a
//! subcommand.

use super::words::{HOLE, ShellWord};

/// Programs whose arguments are read in the same way.
pub(super) struct ProgramFamily {
    names: &'static str,
    operands: Operands,
    /// Whether the programs only read, unless `spoiling` or `written` options make them do more.
    only_reads: bool,
    /// Options whose value is no file and no subcommand.
    valued: &'static str,
    /// Options whose value is a file that is written.
    written: &'static str,
    /// Options that run programs or change files.
    spoiling: &'static str,
}

/// The meaning of the words that are no options.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Operands {
    /// Texts, names or numbers.
    Text,
    Read,
    /// Files of which names and sizes are read. A computed one is no reason to ask.
    List,
    /// A pattern or a program, then files that are read. The options give it instead of the first operand.
    ReadBehindFirst(&'static str),
    /// The first file is read, a second one written.
    ReadThenWrite,
    Write,
    /// Files that are read and written.
    Edit,
    /// Files that are read, and a target that is written.
    Copy,
}

/// How a program uses a file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum FileUse {
    Read,
    Write,
}

const fn family(names: &'static str, operands: Operands) -> ProgramFamily {
    ProgramFamily {
        names,
        operands,
        only_reads: false,
        valued: "",
        written: "",
        spoiling: "",
    }
}

const fn reader(names: &'static str, operands: Operands) -> ProgramFamily {
    ProgramFamily {
        only_reads: true,
        ..family(names, operands)
    }
}

const fn tool(names: &'static str) -> ProgramFamily {
    family(names, Operands::Text)
}

const PROGRAMS: &[ProgramFamily] = &[
    // Commands that only read.
    reader(
        "echo : true false test [ break continue exit return shift wait pwd whoami id uname sleep seq basename dirname \
         expr which type nproc arch groups uptime tr printf ps free cal history \
         lsof netstat",
        Operands::Text,
    ),
    reader(
        "cat tac nl wc rev fold expand unexpand fmt comm cmp strings hexdump od base64 base32 cksum md5sum sha1sum sha256sum \
         sha512sum b2sum join zcat pr tsort",
        Operands::Read,
    ),
    reader("ls stat readlink realpath du df", Operands::List),
    reader("ss", Operands::Text).spoiling("-K --kill -D --diag -F --filter"),
    reader("head tail", Operands::Read).valued("-n -c --lines --bytes"),
    reader("cut paste column", Operands::Read)
        .valued("-d -f -b -c -s --delimiter --fields --bytes --characters --delimiters"),
    reader("diff", Operands::Read).valued("-U -u --unified --label -x --exclude -I"),
    reader("file", Operands::List).spoiling("-C --compile"),
    reader("sort", Operands::Read)
        .valued("-k -t -S --key --field-separator")
        .written("-o --output")
        .spoiling("-T --compress-program --temporary-directory"),
    reader("tree", Operands::List)
        .valued("-L -P -I --filelimit")
        .written("-o"),
    reader("uniq", Operands::ReadThenWrite).valued("-f -s -w"),
    reader("grep egrep fgrep", Operands::ReadBehindFirst("-e -f --regexp --file"))
        .valued("-A -B -C -m --include --exclude --exclude-dir --max-count --context --color"),
    reader("rg ag ack", Operands::ReadBehindFirst("-e -f --regexp --file --files"))
        .valued(
            "-A -B -C -m -t -T -g -r -j -M -d --type --type-not --glob --iglob --max-count \
             --max-depth --replace --sort --color",
        )
        .spoiling("--pre --hostname-bin"),
    reader("jq", Operands::ReadBehindFirst("-f --from-file")).valued("--indent --arg"),
    reader("find", Operands::Read)
        .valued(
            "-name -iname -path -ipath -wholename -regex -iregex -type -maxdepth -mindepth -size -mtime \
             -mmin -perm -user -group -printf",
        )
        .written("-fprint -fprint0 -fls -fprintf")
        .spoiling("-delete -exec -execdir -ok -okdir -files0-from"),
    reader("fd fdfind", Operands::Read)
        .valued("-t -e -E -d --type --extension --exclude --max-depth")
        .spoiling("-x -X --exec --exec-batch"),
    reader("sed gsed", Operands::ReadBehindFirst("-e -f --expression --file"))
        .valued("-l --line-length")
        .spoiling("-i --in-place -f --file -s --separate -e --expression"),
    // Commands that read files, and may do more.
    family("less more bat batcat most view zless zmore", Operands::Read),
    family("awk gawk mawk nawk", Operands::ReadBehindFirst("-f --file -e --source"))
        .valued("-F -v --field-separator --assign"),
    family("perl ruby", Operands::ReadBehindFirst("-e -E")),
    family("xxd", Operands::ReadThenWrite).valued("-l -s -c -o"),
    family("curl", Operands::Read)
        .valued("-X -H -A -u --request --header --user-agent --user --max-time -m")
        .written("-o --output -D --dump-header -c --cookie-jar"),
    family("wget", Operands::Read).written("-O --output-document -o -P --directory-prefix"),
    // Commands that change files.
    family(
        "rm rmdir unlink shred rimraf trash touch mkdir mkfifo mknod tee truncate chattr setfattr",
        Operands::Write,
    )
    .valued("-m --mode"),
    family("chmod chown chgrp setfacl", Operands::Write),
    family("cp install rsync scp gcp ditto", Operands::Copy)
        .valued("-m -o -g -S --mode --owner --group --suffix")
        .written("-t --target-directory"),
    family(
        "mv ln dd vi vim nvim nano emacs ed ex patch tar bsdtar gtar zip unzip 7z split csplit rename sponge openssl \
         gpg gzip gunzip bzip2 xz zstd",
        Operands::Edit,
    ),
    // Programs with subcommands, whose other arguments are names.
    tool("git").valued("-C -c --git-dir --work-tree --namespace --exec-path --config-env"),
    tool("npm").valued("--prefix -C -w --workspace --registry --userconfig --loglevel --cache --tag"),
    tool("pnpm").valued("-C --dir --filter -F --reporter --loglevel"),
    tool("yarn").valued("--cwd --registry --cache-folder --modules-folder"),
    tool("bun").valued("--cwd --config -c"),
    tool("cargo").valued("-C --config -Z --color --manifest-path"),
    tool("go").valued("-C"),
    tool("uv").valued("--directory --project --config-file --cache-dir --color"),
    tool("poetry").valued("-C --directory -P --project"),
    tool("pip pip3").valued("--cache-dir --log --proxy --python --retries --timeout --trusted-host --cert"),
    tool("docker podman nerdctl")
        .valued("-H --host -c --context --config -l --log-level --tlscacert --tlscert --tlskey -f --file -p"),
    tool("docker-compose").valued("-f --file -p --project-name --env-file --profile --project-directory"),
    tool("kubectl oc").valued(
        "-n --namespace --context --kubeconfig --cluster --user -s --server --as --as-group --token --request-timeout",
    ),
    tool("helm").valued("-n --namespace --kube-context --kubeconfig --kube-apiserver --kube-token --registry-config"),
    tool("gh").valued("-R --repo --hostname"),
    tool("glab").valued("-R --repo"),
    tool("aws").valued("--profile --region --endpoint-url --output --query --ca-bundle --color"),
    tool("gcloud").valued("--project --account --configuration --format --verbosity --billing-project --flags-file"),
    tool("az").valued("--subscription -o --output --query -g --resource-group"),
    tool("terraform tofu").valued("-chdir"),
    tool("systemctl").valued("-H --host -M --machine -t --type -p --property -n --lines -o --output"),
    tool("journalctl").valued("-u -n -p -o --since --until"),
    tool("make gmake").valued("-C --directory -f --file -I -j --jobs -o -W"),
    tool("rustup").valued("--toolchain"),
    tool("apt apt-get apk dnf yum pacman brew snap").valued("-o -c -t"),
    tool("vercel").valued("--token -t --cwd -S --scope -A --local-config"),
    tool("fly flyctl").valued("-a --app -c --config -t --access-token"),
    tool("heroku").valued("-a --app -r --remote"),
    tool("mise asdf nvm volta fnm pyenv rbenv vagrant").valued("-C --cd"),
    tool("man info help kill pkill top date export unset cd pushd popd read declare local readonly set"),
];

/// The family of `name`; `None` for an unknown program, whose arguments may be another command.
pub(super) fn find_program(name: &str) -> Option<&'static ProgramFamily> {
    PROGRAMS.iter().find(|family| has(family.names, name))
}

/// Whether the word behind an option of `program` is known to be the option's value.
pub(in crate::permissions) fn takes_value(program: &str, option: &str) -> bool {
    find_program(program).is_some_and(|family| has(family.valued, option))
}

/// Whether a list of words has this one.
pub(super) fn has(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == word)
}

/// Whether a word is one of these options, alone, with a value behind `=`, or with others behind one dash.
pub(super) fn is_option(options: &str, word: &str) -> bool {
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    options.split_ascii_whitespace().any(|known| {
        known == name
            || known.len() == 2 && !word.starts_with("--") && word.starts_with('-') && word.contains(&known[1..])
            || known.starts_with("--") && name.len() > 3 && known.starts_with(name)
    })
}

impl ProgramFamily {
    const fn valued(self, valued: &'static str) -> Self {
        ProgramFamily { valued, ..self }
    }

    const fn written(self, written: &'static str) -> Self {
        ProgramFamily { written, ..self }
    }

    const fn spoiling(self, spoiling: &'static str) -> Self {
        ProgramFamily { spoiling, ..self }
    }

    /// The arguments that may be files, each with its use. `words[0]` is the program.
    pub(super) fn files(&self, words: &[ShellWord]) -> Vec<(FileUse, ShellWord)> {
        if self.operands == Operands::Text {
            return Vec::new();
        }
        let (mut operands, mut others) = (Vec::new(), Vec::new());
        let (mut rest, mut only_operands) = (words[1..].iter(), false);
        let mut needs_first = matches!(self.operands, Operands::ReadBehindFirst(_));
        while let Some(word) = rest.next() {
            let value = word.value.as_str();
            if only_operands || !value.starts_with(['-', '+']) || value == "-" {
                match needs_first {
                    true => needs_first = false,
                    false => operands.push(word.clone()),
                }
                continue;
            }
            only_operands = value == "--";
            if lists_files(&words[0].value, value) {
                others.push((
                    FileUse::Read,
                    ShellWord {
                        value: HOLE.to_string(),
                        source: "$".to_owned(),
                    },
                ));
            }
            if let Operands::ReadBehindFirst(given) = self.operands
                && is_option(given, value)
            {
                needs_first = false;
            }
            let used = match is_option(self.written, value) {
                true => FileUse::Write,
                false => FileUse::Read,
            };
            if has(self.valued, value) {
                rest.next();
            } else if used == FileUse::Write && !value.contains('=') {
                others.extend(rest.next().map(|file| (used, file.clone())));
            }
            if !has(self.valued, value.split('=').next().unwrap_or_default()) {
                match self.operands {
                    Operands::Write | Operands::Edit => operands.extend(attached(word)),
                    _ => others.extend(attached(word).map(|file| (used, file))),
                }
            }
        }
        // In `dd of=x`, and `--data=@x` of curl.
        let inner: Vec<ShellWord> = operands.iter().filter_map(attached_text).collect();
        let last = operands.len().saturating_sub(1);
        let has_target = others.iter().any(|(used, _)| *used == FileUse::Write);
        let in_place = changes_in_place(words);
        for (at, file) in operands.into_iter().enumerate() {
            let (reads, writes) = match self.operands {
                Operands::Text => (false, false),
                Operands::List => (true, false),
                Operands::Read | Operands::ReadBehindFirst(_) => (true, in_place),
                Operands::ReadThenWrite => (at == 0, at > 0),
                Operands::Write => (false, true),
                Operands::Edit => (true, true),
                Operands::Copy => (at < last || has_target, at == last && !has_target),
            };
            others.extend(reads.then(|| (FileUse::Read, file.clone())));
            others.extend(writes.then_some((FileUse::Write, file)));
        }
        if self.operands == Operands::Edit || self.names.starts_with("curl") {
            others.extend(inner.iter().map(|file| (FileUse::Read, file.clone())));
        }
        if self.operands == Operands::Edit {
            others.extend(inner.into_iter().map(|file| (FileUse::Write, file)));
        }
        others
    }

    /// Whether the program searches files for a pattern.
    pub(super) fn searches(&self) -> bool {
        matches!(self.operands, Operands::ReadBehindFirst(_))
    }

    /// Whether the content of files is read.
    pub(super) fn reads_content(&self) -> bool {
        !matches!(self.operands, Operands::Text | Operands::List | Operands::Write)
    }

    /// Whether a computed argument could be a file whose content is read or changed.
    pub(super) fn asks_about_computed(&self) -> bool {
        self.operands != Operands::List
    }

    /// Whether the program only reads with these arguments.
    pub(super) fn only_reads(&self, words: &[ShellWord]) -> bool {
        let spoils = |word: &ShellWord| {
            word.value.starts_with('-') && (is_spoiling(self.spoiling, word) || is_spoiling(self.written, word))
        };
        let is_editor = self.names.starts_with("sed");
        let script = words[1..].iter().find(|word| !word.value.starts_with('-'));
        self.only_reads
            && !words[1..].iter().any(spoils)
            // The scripts of sed can write files and run commands.
            && (!is_editor || script.is_some_and(|script| script.value.chars().all(|c| "0123456789,$p;dq ".contains(c))))
            && self.files(words).iter().all(|(used, _)| *used == FileUse::Read)
    }
}

/// Whether an option of a program names a file that has the names of others.
fn lists_files(program: &str, option: &str) -> bool {
    option.starts_with("--files") && option.contains("from") || program.ends_with("tar") && option.starts_with("-T")
}

/// A computed option may be any.
fn is_spoiling(options: &str, word: &ShellWord) -> bool {
    !options.is_empty() && (is_option(options, &word.value) || word.is_computed())
}

/// Whether an option makes a program that reads files change them.
fn changes_in_place(words: &[ShellWord]) -> bool {
    let name = words[0].value.rsplit('/').next().unwrap_or_default();
    let options = match name {
        "sed" | "gsed" | "awk" | "gawk" | "perl" | "ruby" => "-i --in-place",
        "find" => "-delete",
        _ => return false,
    };
    words.iter().any(|word| is_option(options, &word.value))
}

/// Whether a command only asks a well-known program for its version.
pub(super) fn shows_version(name: &str, words: &[ShellWord]) -> bool {
    let known = "node npm pnpm yarn bun deno python python3 pip uv ruby go cargo rustc java php git docker make cmake gcc clang";
    has(known, name) && words.len() == 2 && words[1].value == "--version"
}

/// The value that is attached to an option: `--file=x`, `-fx`.
fn attached(option: &ShellWord) -> Option<ShellWord> {
    let letters = option.value.strip_prefix('-').unwrap_or_default();
    match letters.chars().next() {
        _ if option.value.contains('=') => attached_text(option),
        Some(letter) if letter != '-' => part_of(option, &letters[letter.len_utf8()..]),
        _ => None,
    }
}

/// The text behind `=` or `@`.
fn attached_text(word: &ShellWord) -> Option<ShellWord> {
    match word.value.split_once('=') {
        Some((_, value)) => part_of(word, value),
        None => part_of(word, word.value.strip_prefix('@')?),
    }
}

/// A part of a word, without the `@` with which curl marks a file.
fn part_of(word: &ShellWord, value: &str) -> Option<ShellWord> {
    let value = value.strip_prefix('@').unwrap_or(value);
    (!value.is_empty()).then(|| ShellWord {
        value: value.to_owned(),
        source: word.source.clone(),
    })
}
