//! The caches of package managers, compilers and test tools: directories that are writable for all programs, with no programs
//! and no settings in them that the user runs later.

/// The directories for caches of all programs. Shells and editors run what they find in some of them, so that not all
/// are writable. `$CACHE` in a place stands for either.
const CACHE_HOMES: &[&str] = &["~/.cache", "$XDG_CACHE_HOME"];

/// Tools, and where they keep what they download and build.
pub(super) struct ToolCaches {
    /// The programs by which the tool is known to be installed.
    pub(super) programs: &'static [&'static str],
    /// Directories. A confined program could not make them: only what is there when it starts can be allowed.
    pub(super) places: &'static [&'static str],
}

const fn of(programs: &'static [&'static str], places: &'static [&'static str]) -> ToolCaches {
    ToolCaches { programs, places }
}

/// The caches that are made if their tool is installed.
pub(super) const TOOLS: &[ToolCaches] = &[
    of(
        &["cargo"],
        &[
            "~/.cargo/registry",
            "~/.cargo/git",
            "$CARGO_HOME/registry",
            "$CARGO_HOME/git",
        ],
    ),
    of(&["npm", "node"], &["~/.npm", "$CACHE/node-gyp", "$CACHE/node"]),
    of(&["pnpm"], &["~/.local/share/pnpm/store", "$CACHE/pnpm"]),
    of(&["yarn"], &["$CACHE/yarn", "~/.yarn/berry"]),
    of(&["bun"], &["~/.bun/install/cache"]),
    of(&["deno"], &["$CACHE/deno"]),
    of(&["pip", "pip3", "python3"], &["$CACHE/pip"]),
    of(&["uv"], &["$CACHE/uv"]),
    of(&["poetry"], &["$CACHE/pypoetry"]),
    of(&["pdm"], &["$CACHE/pdm", "~/.local/state/pdm"]),
    of(&["hatch"], &["$CACHE/hatch", "~/.local/share/hatch/env"]),
    of(&["pipenv"], &["$CACHE/pipenv"]),
    of(
        &["virtualenv", "tox", "nox"],
        &["$CACHE/virtualenv", "~/.local/share/virtualenv"],
    ),
    of(&["mypy"], &["$CACHE/mypy_cache"]),
    of(&["ruff"], &["$CACHE/ruff"]),
    of(&["pylint"], &["$CACHE/pylint"]),
    of(&["go"], &["$CACHE/go-build", "~/go/pkg", "$GOPATH/pkg"]),
    of(&["golangci-lint"], &["$CACHE/golangci-lint"]),
    of(&["staticcheck"], &["$CACHE/staticcheck"]),
    of(&["mvn", "mvnw"], &["~/.m2/repository", "~/.m2/wrapper"]),
    // Not all of it: `init.d` and `gradle.properties` are read by every build.
    of(
        &["gradle", "gradlew"],
        &[
            "~/.gradle/caches",
            "~/.gradle/daemon",
            "~/.gradle/native",
            "~/.gradle/notifications",
            "~/.gradle/workers",
            "~/.gradle/wrapper",
            "~/.gradle/.tmp",
            "$GRADLE_USER_HOME/caches",
            "$GRADLE_USER_HOME/daemon",
            "$GRADLE_USER_HOME/native",
            "$GRADLE_USER_HOME/notifications",
            "$GRADLE_USER_HOME/workers",
            "$GRADLE_USER_HOME/wrapper",
            "$GRADLE_USER_HOME/.tmp",
        ],
    ),
    of(&["sbt"], &["$CACHE/sbt", "~/.ivy2/cache"]),
    of(&["dotnet", "nuget"], &["~/.nuget/packages", "$CACHE/nuget"]),
    of(&["bundle", "gem"], &["~/.bundle/cache", "$CACHE/gem"]),
    of(&["rubocop"], &["$CACHE/rubocop_cache"]),
    of(&["composer"], &["~/.composer/cache", "$CACHE/composer"]),
    of(&["cabal"], &["~/.cabal/packages"]),
    of(&["dart", "flutter"], &["~/.pub-cache/hosted"]),
    of(&["julia"], &["~/.julia/packages"]),
    of(&["terraform"], &["~/.terraform.d/plugin-cache"]),
    of(&["helm"], &["$CACHE/helm"]),
    of(&["zig"], &["$CACHE/zig"]),
    of(
        &["nim", "nimble"],
        &["$CACHE/nim", "~/.nimble/pkgs2", "~/.nimble/pkgcache"],
    ),
    of(&["ccache"], &["$CACHE/ccache"]),
    of(&["conan"], &["$CACHE/conan"]),
    of(&["playwright"], &["$CACHE/ms-playwright"]),
    of(&["puppeteer"], &["$CACHE/puppeteer"]),
    of(&["cypress"], &["$CACHE/Cypress"]),
    of(&["fc-cache"], &["$CACHE/fontconfig"]),
];

/// The caches that are writable only where they are: files, and those of libraries, which no program on its own shows.
const OTHERS: ToolCaches = of(
    &[],
    &[
        "~/.cargo/.package-cache",
        "~/.cargo/.package-cache-mutate",
        "~/.cargo/.global-cache",
        "$CARGO_HOME/.package-cache",
        "$CARGO_HOME/.package-cache-mutate",
        "$CARGO_HOME/.global-cache",
        "$CARGO_TARGET_DIR",
        "~/.pnpm-store",
        "$CACHE/electron",
        "$CACHE/electron-builder",
        "$CACHE/esbuild",
        "$CACHE/gstreamer-1.0",
        "$CACHE/huggingface/datasets",
        "$CACHE/huggingface/hub",
        "$CACHE/jedi",
        "$CACHE/jest",
        "$CACHE/matplotlib",
        "$CACHE/mesa_shader_cache",
        "$CACHE/mesa_shader_cache_db",
        "$CACHE/nx",
        "$CACHE/phpstan",
        "$CACHE/pip-tools",
        "$CACHE/prisma",
        "$CACHE/prisma-nodejs",
        "$CACHE/rust-analyzer",
        "$CACHE/selenium",
        "$CACHE/swc",
        "$CACHE/torch",
        "$CACHE/turbo",
        "$CACHE/typescript",
        "$CACHE/vite",
        "$CACHE/vitest",
    ],
);

/// All caches.
pub(super) fn all() -> impl Iterator<Item = &'static ToolCaches> {
    TOOLS.iter().chain([&OTHERS])
}

/// The places of a tool as they are written in settings, those in `$CACHE` below each of the homes of caches.
pub(super) fn written(caches: &ToolCaches) -> Vec<String> {
    let places = caches.places.iter();
    let below_homes = |place: &&str| match place.strip_prefix("$CACHE/") {
        Some(name) => CACHE_HOMES.iter().map(|home| format!("{home}/{name}")).collect(),
        None => vec![(*place).to_owned()],
    };
    places.flat_map(below_homes).collect()
}

#[cfg(test)]
mod tests {
    use ralph_core::testing::assert_committed_part;

    use super::*;

    #[test]
    fn the_guide_has_the_caches_of_all_tools() {
        let row = |caches: &ToolCaches| {
            let places = caches.places.iter().filter(|place| place.starts_with(['~', '$']));
            let homes = places.filter(|place| place.starts_with('~') || place.starts_with("$CACHE"));
            let homes: Vec<String> = homes
                .map(|place| format!("`{}`", place.replace("$CACHE", "~/.cache")))
                .collect();
            format!("| {} | {} |\n", caches.programs.join(", "), homes.join(", "))
        };
        let rows: String = TOOLS.iter().map(row).collect();
        let table = format!("| program | places |\n|---|---|\n{rows}");
        assert_committed_part("docs/guide/sandbox.md", "caches", &table, "the_guide_has_the_caches");
    }
}
