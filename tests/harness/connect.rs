//! Makes the agents of a sandbox ask a stand-in model server and nobody else, each in its own way.

use std::{fs, path::Path};

use serde_json::{Value, json};

use super::Sandbox;
use crate::stand_in::StandIn;

/// Whether an agent that is a program of bun frees memory; `0` or `1`.
pub const COLLECT_GARBAGE: &str = "BUN_JSC_useGC";
/// Whether it compiles the code again that has run for a while; `0` or `1`.
pub const OPTIMIZE: &str = "BUN_JSC_useDFGJIT";

impl Sandbox {
    /// Makes codex, wherever it is started in the sandbox, ask `model`, and repeat a failed request `retries` times.
    pub fn connect_codex(&self, model: &StandIn, retries: u32) {
        let config = format!(
            "model = \"stand-in\"\nmodel_provider = \"standin\"\ncheck_for_update_on_startup = false\n\
             [analytics]\nenabled = false\n\
             [model_providers.standin]\nname = \"standin\"\nbase_url = \"{}\"\nwire_api = \"responses\"\n\
             env_key = \"STANDIN_KEY\"\nrequest_max_retries = {retries}\nstream_max_retries = {retries}\n",
            model.base_url()
        );
        fs::write(self.codex_home().join("config.toml"), config).expect("codex's configuration");
    }

    /// Adds to codex's configuration.
    pub fn add_to_codex(&self, text: &str) {
        let path = self.codex_home().join("config.toml");
        let config = fs::read_to_string(&path).expect("codex's configuration");
        fs::write(path, config + text).expect("codex's configuration");
    }

    /// Makes claude ask `model`, and repeat a failed request `retries` times.
    ///
    /// Its delays before a repetition are its own: half a second, doubled each time.
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

    /// Makes gemini ask `model`, and repeat a failed request `retries` times.
    ///
    /// Before the first repetition it waits five seconds, whatever the server says.
    pub fn connect_gemini(&self, model: &StandIn, retries: u32) {
        self.set_variable("GOOGLE_GEMINI_BASE_URL", model.origin());
        self.set_variable("GEMINI_API_KEY", "stand-in");
        let settings = json!({
            "security": { "auth": { "selectedType": "gemini-api-key" } },
            "general": {
                "enableAutoUpdate": false, "enableAutoUpdateNotification": false,
                "maxAttempts": retries + 1,
            },
            // Without it, a small model is asked first which model to ask.
            "model": { "name": "gemini-2.5-pro" },
            "privacy": { "usageStatisticsEnabled": false },
            "telemetry": { "enabled": false },
        });
        write_json(&self.home().join(".gemini/settings.json"), &settings);
    }

    /// Makes opencode ask `model`.
    ///
    /// How often it repeats a failed request cannot be set; how soon, the answer says with `retry-after-ms`.
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

    /// Makes ralph's own agent ask at `base`, and repeat a failed request `retries` times.
    pub fn connect_native(&self, base: &str, retries: u32) {
        let prices = json!({ "stand-in": { "input": 1, "output": 2 } });
        self.set_variable("RALPH_NATIVE_BASE_URL", base);
        self.set_variable("RALPH_NATIVE_API_KEY", "sk-stand-in");
        self.set_variable("RALPH_NATIVE_RETRIES", retries.to_string());
        self.set_variable("RALPH_NATIVE_PRICES", prices.to_string());
    }

    /// Lets opencode start without its catalogue of models and its ways to log in, which are two fifths of a start,
    /// without compiling the code again that has run for a while, which takes another fifth and pays after minutes, and
    /// without collecting garbage, which is half of what is left: a process of seconds can keep its gigabyte.
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
