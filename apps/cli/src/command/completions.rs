//! `springbloom completions`: completions for a shell.

use anyhow::Result;
use clap::Args;
use clap_complete::Shell;
use springbloom_console::output;

/// Print completions for a shell
///
/// For bash: `springbloom completions bash > ~/.local/share/bash-completion/completions/springbloom`
#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// Which shell
    shell: Shell,
}

impl Completions {
    /// Prints the completions of `program`.
    ///
    /// # Errors
    /// An output that cannot be written.
    pub(crate) fn run(&self, mut program: clap::Command) -> Result<()> {
        let name = program.get_name().to_owned();
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut program, name, &mut script);
        output::report(|out| Ok(std::io::Write::write_all(out, &script)?))
    }
}
