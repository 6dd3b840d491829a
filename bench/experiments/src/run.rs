//! A run: a command that writes one record.

use springbloom_records::command_line;

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    Quick,
    Full,
}

impl Size {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Full => "full",
        }
    }

    /// The first of two values for a quick run, the second for a full one.
    pub(crate) fn pick<T>(self, quick: T, full: T) -> T {
        match self {
            Self::Quick => quick,
            Self::Full => full,
        }
    }
}

/// What runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// A subcommand of `springbloom`. Runs of the same databases follow one another and reuse them.
    Springbloom { databases: Option<String> },
    /// A benchmark of the crate in `folder`, which needs a checkout and cargo.
    Bench { folder: String, bench: String },
}

/// A command that writes one record. Experiments may have runs in common, which are known by their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) name: String,
    /// Stem of the file of its records.
    pub(crate) file: String,
    pub(crate) program: Program,
    quick: Arguments,
    full: Arguments,
    /// Length of the keys in the file `keys` that it reads, if it reads one.
    pub(crate) key_bytes: Option<usize>,
}

/// The environment has the settings of a benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Arguments {
    environment: Vec<(String, String)>,
    arguments: Vec<String>,
}

impl Run {
    /// The words of `command` and those of a quick or a full run.
    pub(crate) fn new(
        name: &str,
        file: &str,
        program: Program,
        command: &str,
        [quick, full]: [&str; 2],
        key_bytes: Option<usize>,
    ) -> Self {
        let of = |own: &str| match program {
            Program::Springbloom { .. } => {
                Arguments { environment: Vec::new(), arguments: words(command).chain(words(own)).collect() }
            }
            Program::Bench { .. } => {
                let variables = own.split_whitespace().filter_map(|word| word.split_once('='));
                Arguments {
                    environment: variables.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
                    arguments: words(command).collect(),
                }
            }
        };
        let (quick, full) = (of(quick), of(full));
        Self { name: run_name(name), file: file.to_owned(), program, quick, full, key_bytes }
    }

    fn of(&self, size: Size) -> &Arguments {
        size.pick(&self.quick, &self.full)
    }

    pub(crate) fn arguments(&self, size: Size) -> &[String] {
        &self.of(size).arguments
    }

    pub(crate) fn environment(&self, size: Size) -> &[(String, String)] {
        &self.of(size).environment
    }

    /// The command of its record.
    pub(crate) fn command(&self, size: Size) -> Vec<String> {
        let Arguments { environment, arguments } = self.of(size);
        match &self.program {
            Program::Springbloom { .. } => {
                let keys = self.key_bytes.map(|_| ["--keys".to_owned(), self.keys_name()]);
                command_line("springbloom", arguments.iter().cloned().chain(keys.into_iter().flatten()))
            }
            Program::Bench { folder, bench } => {
                let settings = environment.iter().map(|(name, value)| format!("{name}={value}"));
                let cargo = format!("cargo bench --manifest-path {folder}/Cargo.toml --bench {bench} --");
                settings.chain(words(&cargo)).chain(arguments.iter().cloned()).collect()
            }
        }
    }

    /// The name of its file of keys.
    pub(crate) fn keys_name(&self) -> String {
        format!("keys-{}", self.key_bytes.unwrap_or_default())
    }
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split_whitespace().map(str::to_owned)
}

/// The name of a run: text without colons, which also names databases.
pub(crate) fn run_name(name: impl Into<String>) -> String {
    name.into().replace(':', "-")
}
