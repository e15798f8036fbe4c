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
        let stand_in = json!({
            "name": "Stand-in", "limit": { "context": 200_000, "output": 8_192 }, "cost": { "input": 1, "output": 2 },
        });
        let config = json!({
            "autoupdate": false, "share": "disabled",
            "model": "standin/stand-in", "small_model": "standin/stand-in",
            "provider": { "standin": {
                "npm": "@ai-sdk/openai-compatible", "name": "Stand-in",
                "options": { "baseURL": model.base_url(), "apiKey": "sk-stand-in" },
                "models": { "stand-in": stand_in },
            } },
        });
        write_json(&self.config().join("opencode/opencode.json"), &config);
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
