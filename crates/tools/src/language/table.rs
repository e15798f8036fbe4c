//! The known language servers, and which one supports a file. Pure.

use std::path::Path;

use serde_json::{Value, json};

/// A language server: how it is started, and which files it supports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LanguageServer {
    pub name: String,
    /// A name on `PATH`, or a path.
    pub command: String,
    pub args: Vec<String>,
    /// The extensions of the supported files, without the dot.
    pub extensions: Vec<String>,
    /// Names of files that mark the root of a workspace. The outermost directory in the project that contains one is
    /// the root; without any, the project itself.
    pub roots: Vec<String>,
    /// The protocol's id of the language; `None` to derive it from the extension.
    pub language: Option<String>,
    /// The server's `initializationOptions`.
    pub options: Value,
}

/// Name and command, arguments, extensions, root markers. If several support the same files, the first installed one is
/// used.
type ServerRow = (
    &'static str,
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

const ROWS: &[ServerRow] = &[
    ("rust-analyzer", "", &["rs"], &["Cargo.toml", "rust-project.json"]),
    (TSC, "--lsp --stdio", TYPESCRIPT, TYPESCRIPT_ROOTS),
    ("typescript-language-server", "--stdio", TYPESCRIPT, TYPESCRIPT_ROOTS),
    ("basedpyright-langserver", "--stdio", PYTHON, PYTHON_ROOTS),
    ("pyright-langserver", "--stdio", PYTHON, PYTHON_ROOTS),
    ("pylsp", "", PYTHON, PYTHON_ROOTS),
    ("gopls", "", &["go"], &["go.work", "go.mod"]),
    (
        "clangd",
        "",
        &["c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx", "m", "mm"],
        &[
            "compile_commands.json",
            "compile_flags.txt",
            ".clangd",
            "CMakeLists.txt",
            "meson.build",
        ],
    ),
    ("zls", "", &["zig"], &["build.zig"]),
    ("lua-language-server", "", &["lua"], &[".luarc.json", ".luarc.jsonc"]),
    ("ruby-lsp", "", &["rb"], &["Gemfile"]),
    ("intelephense", "--stdio", &["php"], &["composer.json"]),
    (
        "jdtls",
        "",
        &["java"],
        &["settings.gradle", "settings.gradle.kts", "pom.xml", "build.gradle"],
    ),
    (
        "kotlin-language-server",
        "",
        &["kt", "kts"],
        &["settings.gradle.kts", "settings.gradle", "pom.xml"],
    ),
    ("csharp-ls", "", &["cs"], &["global.json"]),
    ("elixir-ls", "", &["ex", "exs"], &["mix.exs"]),
    (
        "haskell-language-server-wrapper",
        "--lsp",
        &["hs"],
        &["cabal.project", "stack.yaml", "hie.yaml"],
    ),
    ("ocamllsp", "", &["ml", "mli"], &["dune-project"]),
    ("metals", "", &["scala", "sbt"], &["build.sbt"]),
    ("sourcekit-lsp", "", &["swift"], &["Package.swift"]),
    ("dart", "language-server", &["dart"], &["pubspec.yaml"]),
    ("gleam", "lsp", &["gleam"], &["gleam.toml"]),
    ("terraform-ls", "serve", &["tf", "tfvars"], &[".terraform"]),
    ("bash-language-server", "start", &["sh", "bash"], &[]),
];
/// The compiler of TypeScript, which is a language server from version 7 on.
pub(super) const TSC: &str = "tsc";
const TYPESCRIPT: &[&str] = &["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs"];
const TYPESCRIPT_ROOTS: &[&str] = &["tsconfig.json", "jsconfig.json", "package.json"];
const PYTHON: &[&str] = &["py", "pyi"];
const PYTHON_ROOTS: &[&str] = &[
    "pyproject.toml",
    "pyrightconfig.json",
    "setup.py",
    "setup.cfg",
    "requirements.txt",
];

/// The protocol's ids of languages, if they differ from the extension.
const LANGUAGES: &[(&str, &[&str])] = &[
    ("rust", &["rs"]),
    ("typescript", &["ts", "mts", "cts"]),
    ("typescriptreact", &["tsx"]),
    ("javascript", &["js", "mjs", "cjs"]),
    ("javascriptreact", &["jsx"]),
    ("python", &["py", "pyi"]),
    ("cpp", &["cc", "cpp", "cxx", "hh", "hpp", "hxx"]),
    ("c", &["c", "h"]),
    ("objective-c", &["m"]),
    ("objective-cpp", &["mm"]),
    ("ruby", &["rb"]),
    ("kotlin", &["kt", "kts"]),
    ("csharp", &["cs"]),
    ("elixir", &["ex", "exs"]),
    ("haskell", &["hs"]),
    ("ocaml", &["ml", "mli"]),
    ("terraform", &["tf", "tfvars"]),
    ("shellscript", &["sh", "bash"]),
];

/// The servers that are supported without configuration.
pub fn built_in() -> Vec<LanguageServer> {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let rows = ROWS
        .iter()
        .map(|(command, arguments, extensions, roots)| LanguageServer {
            name: (*command).to_owned(),
            command: (*command).to_owned(),
            args: arguments.split_whitespace().map(str::to_owned).collect(),
            extensions: owned(extensions),
            roots: owned(roots),
            language: None,
            options: match *command {
                // Without its own target directory, its checks and the agent's builds would block each other.
                "rust-analyzer" => json!({"cargo": {"targetDir": true}}),
                _ => Value::Null,
            },
        });
    rows.collect()
}

impl LanguageServer {
    pub(super) fn is_for(&self, file: &Path) -> bool {
        extension(file).is_some_and(|extension| self.extensions.contains(&extension))
    }

    /// The protocol's id of the language of `file`.
    pub(super) fn language_of(&self, file: &Path) -> String {
        if let Some(language) = &self.language {
            return language.clone();
        }
        let extension = extension(file).unwrap_or_default();
        let known = LANGUAGES
            .iter()
            .find(|(_, extensions)| extensions.contains(&&*extension));
        known.map_or(extension, |(language, _)| (*language).to_owned())
    }
}

fn extension(file: &Path) -> Option<String> {
    Some(file.extension()?.to_str()?.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_language_of_its_extension_unless_its_server_says_another() {
        let mut servers = built_in();
        let of = |servers: &[LanguageServer], file: &str| {
            let server = servers.iter().find(|server| server.is_for(Path::new(file)))?;
            Some((server.name.clone(), server.language_of(Path::new(file))))
        };
        let told = |name: &str, language: &str| Some((name.to_owned(), language.to_owned()));
        assert_eq!(of(&servers, "src/a.rs"), told("rust-analyzer", "rust"));
        assert_eq!(of(&servers, "a.TSX"), told("tsc", "typescriptreact"));
        assert_eq!(of(&servers, "a.go"), told("gopls", "go"));
        assert_eq!(of(&servers, "a.txt"), None);
        assert_eq!(of(&servers, "rs"), None);
        servers[0].language = Some("ferris".to_owned());
        assert_eq!(of(&servers, "a.rs"), told("rust-analyzer", "ferris"));
    }
}
