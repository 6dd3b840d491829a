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
    Springbloom { databases: Option<&'static str> },
    /// A benchmark of the crate in `folder`, which needs a checkout and cargo. `environment` has its settings.
    Bench { folder: &'static str, bench: &'static str },
}

/// A command that writes one record. Experiments may have runs in common, which are known by their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) name: String,
    pub(crate) program: Program,
    quick: Arguments,
    full: Arguments,
    /// Length of the keys in the file `keys` that it reads, if it reads one.
    pub(crate) key_bytes: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Arguments {
    environment: Vec<(&'static str, String)>,
    arguments: Vec<String>,
}

impl Run {
    /// `springbloom` with the words of `both` and those of a size.
    pub(crate) fn springbloom(
        name: impl Into<String>,
        databases: Option<&'static str>,
        both: &str,
        quick: &str,
        full: &str,
    ) -> Self {
        let of = |own: &str| Arguments {
            environment: Vec::new(),
            arguments: words(both).chain(words(own)).collect(),
        };
        Self {
            name: run_name(name),
            program: Program::Springbloom { databases },
            quick: of(quick),
            full: of(full),
            key_bytes: None,
        }
    }

    /// Sections of a benchmark, with settings of the environment.
    pub(crate) fn bench(
        name: &str,
        (folder, bench): (&'static str, &'static str),
        sections: &str,
        quick: &[(&'static str, u64)],
        full: &[(&'static str, u64)],
    ) -> Self {
        let of = |settings: &[(&'static str, u64)]| Arguments {
            environment: settings.iter().map(|&(name, value)| (name, value.to_string())).collect(),
            arguments: words(sections).collect(),
        };
        Self {
            name: name.to_owned(),
            program: Program::Bench { folder, bench },
            quick: of(quick),
            full: of(full),
            key_bytes: None,
        }
    }

    /// The same with a file of keys of this length.
    pub(crate) fn with_keys_of(self, bytes: usize) -> Self {
        Self { key_bytes: Some(bytes), ..self }
    }

    fn of(&self, size: Size) -> &Arguments {
        size.pick(&self.quick, &self.full)
    }

    pub(crate) fn arguments(&self, size: Size) -> &[String] {
        &self.of(size).arguments
    }

    pub(crate) fn environment(&self, size: Size) -> &[(&'static str, String)] {
        &self.of(size).environment
    }

    /// The command of its record.
    pub(crate) fn command(&self, size: Size) -> Vec<String> {
        let Arguments { environment, arguments } = self.of(size);
        match self.program {
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

/// The name of a run, which is also that of its file.
pub(crate) fn run_name(name: impl Into<String>) -> String {
    name.into().replace(':', "-")
}
