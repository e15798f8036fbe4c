//! Points the agents of a sandbox to a stand-in model server and to no other, each in its own way.

use std::{fs, path::Path};

use serde_json::{Value, json};

use super::Sandbox;
use crate::stand_in::StandIn;

/// The variable that turns garbage collection of bun programs on or off: `1` or `0`.
pub const COLLECT_GARBAGE: &str = "BUN_JSC_useGC";
/// The variable that turns the optimizing compiler of bun programs on or off: `1` or `0`.
pub const OPTIMIZE: &str = "BUN_JSC_useDFGJIT";

impl Sandbox {
    /// Makes every codex of the sandbox use `model` and repeat a failed request `retries` times.
    pub fn connect_codex(&self, model: &StandIn, retries: u32) {
        connect_codex_at(&self.codex_home(), model, retries);
    }

    /// Adds to codex's configuration.
    pub fn add_to_codex(&self, text: &str) {
        let path = self.codex_home().join("config.toml");
        let config = fs::read_to_string(&path).expect("codex's configuration");
        fs::write(path, config + text).expect("codex's configuration");
    }

    /// Makes claude use `model` and repeat a failed request `retries` times.
    ///
    /// The delays before a retry are claude's own: half a second, doubled each time.
    pub fn connect_claude(&self, model: &StandIn, retries: u32) {
        self.set_variable("ANTHROPIC_BASE_URL", model.origin());
        self.set_variable("ANTHROPIC_API_KEY", "sk-ant-stand-in");
        self.set_variable("CLAUDE_CODE_MAX_RETRIES", retries.to_string());
        self.set_variable("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
        self.set_variable("DISABLE_TELEMETRY", "1");
        self.set_variable("DISABLE_ERROR_REPORTING", "1");
        self.set_variable("DISABLE_AUTOUPDATER", "1");
        self.set_variable(COLLECT_GARBAGE, "0");
    }

    /// Makes gemini use `model` and repeat a failed request `retries` times.
    ///
    /// gemini waits five seconds before the first retry and ignores the server's delay.
    pub fn connect_gemini(&self, model: &StandIn, retries: u32) {
        self.set_variable("GOOGLE_GEMINI_BASE_URL", model.origin());
        self.set_variable("GEMINI_API_KEY", "stand-in");
        let settings = json!({
            "security": { "auth": { "selectedType": "gemini-api-key" } },
            "general": {
                "enableAutoUpdate": false, "enableAutoUpdateNotification": false,
                "maxAttempts": retries + 1,
            },
            // Without this, gemini asks a small model which model to use.
            "model": { "name": "gemini-2.5-pro" },
            "privacy": { "usageStatisticsEnabled": false },
            "telemetry": { "enabled": false },
        });
        write_json(&self.home().join(".gemini/settings.json"), &settings);
    }

    /// Makes opencode use `model`.
    ///
    /// The number of retries cannot be set; the header `retry-after-ms` of an answer sets their delay.
    pub fn connect_opencode(&self, model: &StandIn) {
        for switch in [
            "OPENCODE_DISABLE_AUTOUPDATE",
            "OPENCODE_DISABLE_MODELS_FETCH",
            "OPENCODE_DISABLE_LSP_DOWNLOAD",
        ] {
            self.set_variable(switch, "1");
        }
        write_json(&self.config().join("opencode/opencode.json"), &opencode_settings(model));
    }

    /// Makes copilot use `model` without a login to GitHub. It repeats a failed request five times.
    pub fn connect_copilot(&self, model: &StandIn) {
        self.set_variable("COPILOT_PROVIDER_BASE_URL", model.base_url());
        self.set_variable("COPILOT_PROVIDER_API_KEY", "sk-stand-in");
        self.set_variable("COPILOT_MODEL", "stand-in");
        self.set_variable("COPILOT_OFFLINE", "true");
    }

    /// Makes kilo use `model`, as [`Sandbox::connect_opencode`].
    pub fn connect_kilo(&self, model: &StandIn) {
        for switch in [
            "KILO_DISABLE_AUTOUPDATE",
            "KILO_DISABLE_MODELS_FETCH",
            "KILO_DISABLE_LSP_DOWNLOAD",
            "KILO_DISABLE_DEFAULT_PLUGINS",
        ] {
            self.set_variable(switch, "1");
        }
        let known = self.config().join("kilo-models.json");
        write_json(&known, &json!({}));
        self.set_variable("KILO_MODELS_PATH", known);
        let limit = json!({ "context": 200_000, "output": 8192 });
        let known = json!({ "name": "Stand-in", "limit": limit, "cost": { "input": 1, "output": 2 } });
        let provider = json!({
            "npm": "@ai-sdk/openai-compatible", "name": "Check",
            "options": { "baseURL": model.base_url(), "apiKey": "sk-stand-in" }, "models": { "stand-in": known },
        });
        let settings = json!({
            "autoupdate": false, "share": "disabled", "model": "check/stand-in", "small_model": "check/stand-in",
            "provider": { "check": provider },
        });
        write_json(&self.config().join("kilo/kilo.json"), &settings);
    }

    /// Makes kimi use `model`.
    pub fn connect_kimi(&self, model: &StandIn) {
        let settings = format!(
            "default_model = \"stand-in\"\n\
             [providers.check]\ntype = \"openai\"\nbase_url = \"{}\"\napi_key = \"sk-stand-in\"\n\
             [models.stand-in]\nprovider = \"check\"\nmodel = \"stand-in\"\nmax_context_size = 200000\n",
            model.base_url()
        );
        let directory = self.home().join(".kimi-code");
        fs::create_dir_all(&directory).expect("kimi's directory");
        fs::write(directory.join("config.toml"), settings).expect("kimi's configuration");
    }

    /// Makes pi use `model`. It repeats a failed request three times.
    pub fn connect_pi(&self, model: &StandIn) {
        self.set_variable("PI_OFFLINE", "1");
        let cost = json!({ "input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0 });
        let known = json!({
            "id": "stand-in", "name": "Stand-in", "reasoning": false, "input": ["text"],
            "contextWindow": 200_000, "maxTokens": 8192, "cost": cost,
        });
        let provider = json!({
            "baseUrl": model.base_url(), "api": "openai-completions", "apiKey": "sk-stand-in", "models": [known],
        });
        let agent = self.home().join(".pi/agent");
        write_json(
            &agent.join("models.json"),
            &json!({ "providers": { "check": provider } }),
        );
        let settings = json!({ "defaultProvider": "check", "defaultModel": "stand-in" });
        write_json(&agent.join("settings.json"), &settings);
    }

    /// Makes cline use `model`, as `cline auth openai-compatible` does.
    pub fn connect_cline(&self, model: &StandIn) {
        self.set_variable("CLINE_TELEMETRY_DISABLED", "1");
        let settings = json!({
            "provider": "openai-compatible", "apiKey": "sk-stand-in", "model": "stand-in", "baseUrl": model.base_url(),
        });
        let provider = json!({
            "settings": settings, "updatedAt": "2026-11-20T10:00:00.000Z", "tokenSource": "manual",
        });
        let providers = json!({
            "version": 1, "lastUsedProvider": "openai-compatible", "modes": {},
            "providers": { "openai-compatible": provider },
        });
        write_json(&self.home().join(".cline/data/settings/providers.json"), &providers);
    }

    /// Makes nanocoder use `model`.
    pub fn connect_nanocoder(&self, model: &StandIn) {
        let provider = json!({
            "name": "standin", "baseUrl": model.base_url(), "apiKey": "sk-stand-in", "models": ["stand-in"],
        });
        let settings = json!({ "nanocoder": { "providers": [provider] } });
        write_json(&self.config().join("nanocoder/agents.config.json"), &settings);
    }

    /// Makes ralph's own agent use the model at `base` and repeat a failed request `retries` times.
    pub fn connect_native(&self, base: &str, retries: u32) {
        self.set_variable("RALPH_NATIVE_BASE_URL", base);
        self.set_variable("RALPH_NATIVE_API_KEY", "sk-stand-in");
        self.set_variable("RALPH_NATIVE_RETRIES", retries.to_string());
    }

    /// Speeds up the start of opencode. Its model catalogue and login methods, two fifths of a start, are left out. So
    /// are the optimizing compiler, another fifth that pays only after minutes, and garbage collection, half of the
    /// rest: a process that lives for seconds can keep its gigabyte.
    pub fn lighten_opencode(&self) {
        let catalogue = self.config().join("opencode-models.json");
        write_json(&catalogue, &json!({}));
        self.set_variable("OPENCODE_MODELS_PATH", catalogue);
        self.set_variable("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1");
        self.set_variable(OPTIMIZE, "0");
        self.set_variable(COLLECT_GARBAGE, "0");
    }
}

/// The configuration of opencode.
fn opencode_settings(model: &StandIn) -> Value {
    let stand_in = json!({
        "name": "Stand-in", "limit": { "context": 200_000, "output": 8_192 }, "cost": { "input": 1, "output": 2 },
    });
    json!({
        "autoupdate": false, "share": "disabled",
        "model": "standin/stand-in", "small_model": "standin/stand-in",
        "provider": { "standin": {
            "npm": "@ai-sdk/openai-compatible", "name": "Stand-in",
            "options": { "baseURL": model.base_url(), "apiKey": "sk-stand-in" },
            "models": { "stand-in": stand_in },
        } },
    })
}

fn write_json(path: &Path, value: &Value) {
    fs::create_dir_all(path.parent().expect("a file has a directory")).expect("the file's directory");
    fs::write(path, value.to_string()).expect("an agent's configuration");
}

/// Makes a codex whose own directory is `home` use `model` and repeat a failed request `retries` times.
pub fn connect_codex_at(home: &Path, model: &StandIn, retries: u32) {
    let config = format!(
        "model = \"stand-in\"\nmodel_provider = \"standin\"\ncheck_for_update_on_startup = false\n\
         [analytics]\nenabled = false\n\
         [model_providers.standin]\nname = \"standin\"\nbase_url = \"{}\"\nwire_api = \"responses\"\n\
         env_key = \"STANDIN_KEY\"\nrequest_max_retries = {retries}\nstream_max_retries = {retries}\n",
        model.base_url()
    );
    fs::write(home.join("config.toml"), config).expect("codex's configuration");
}
