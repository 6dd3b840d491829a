//! The command `completions` of programs: completions for a shell.

use anyhow::Result;
use clap::Args;
use clap_complete::Shell;

use crate::output;

/// Print completions for a shell
///
/// Bash reads them from a file named like the program in ~/.local/share/bash-completion/completions.
#[derive(Args, Debug)]
pub struct Completions {
    /// Which shell
    shell: Shell,
}

impl Completions {
    /// Prints the completions of `program`.
    ///
    /// # Errors
    /// An output that cannot be written.
    pub fn run(&self, mut program: clap::Command) -> Result<()> {
        let name = program.get_name().to_owned();
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut program, name, &mut script);
        output::report(|out| Ok(std::io::Write::write_all(out, &script)?))
    }
}
