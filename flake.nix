# ralph for Nix: `nix run`, `nix profile install`. Not yet run; `.ci/lint-packaging` reads it.
{
  description = "Runs a coding agent again and again against a plan until the work is verifiably done";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      systems = [
        "x86_64-linux"
        "aarch64-linux"
        "x86_64-darwin"
        "aarch64-darwin"
      ];
      forEach = nixpkgs.lib.genAttrs systems;
    in
    {
      packages = forEach (
        system:
        let
          pkgs = nixpkgs.legacyPackages.${system};
        in
        {
          default = pkgs.rustPlatform.buildRustPackage {
            pname = "ralph-loop";
            version = (nixpkgs.lib.importTOML ./Cargo.toml).workspace.package.version;
            src = self;
            cargoLock.lockFile = ./Cargo.lock;
            cargoBuildFlags = [
              "--bin"
              "ralph"
            ];
            # The tests need agents from npm; `.ci/run` runs them.
            doCheck = false;
            nativeBuildInputs = [ pkgs.installShellFiles ];
            postInstall = ''
              for shell in bash zsh fish; do
                $out/bin/ralph completions $shell >ralph.$shell
              done
              installShellCompletion ralph.bash ralph.zsh ralph.fish
              $out/bin/ralph man $out/share/man/man1
            '';
            meta = {
              description = "Runs a coding agent again and again against a plan until the work is verifiably done";
              license = with pkgs.lib.licenses; [
                mit
                asl20
              ];
              mainProgram = "ralph";
            };
          };
        }
      );
      devShells = forEach (
        system:
        let
          pkgs = nixpkgs.legacyPackages.${system};
        in
        {
          default = pkgs.mkShell {
            inputsFrom = [ self.packages.${system}.default ];
            packages = [
              pkgs.clippy
              pkgs.rustfmt
              pkgs.git
              pkgs.nodejs
            ];
          };
        }
      );
    };
}
