//! The experiments, from the files in `catalogue/`.
//!
//! - `file`: what such a file holds;
//! - `template`: entries that stand for many;
//! - `read`: from entries to experiments.

mod file;
mod read;
mod template;

use std::sync::LazyLock;

use springbloom_console::bad_input;
use springbloom_records::distinct;

use crate::experiment::Experiment;
use crate::run::Run;

/// Stems of the files, in the order in which their experiments are shown, with their text.
const FILES: [(&str, &str); 7] = [
    ("atc19", include_str!("../../catalogue/atc19.toml")),
    ("hotstorage18", include_str!("../../catalogue/hotstorage18.toml")),
    ("leveldb", include_str!("../../catalogue/leveldb.toml")),
    ("shamba", include_str!("../../catalogue/shamba.toml")),
    ("bloomstore", include_str!("../../catalogue/bloomstore.toml")),
    ("bloomflash", include_str!("../../catalogue/bloomflash.toml")),
    ("springbloom", include_str!("../../catalogue/springbloom.toml")),
];
const COMMON: &str = include_str!("../../catalogue/common.toml");

static EXPERIMENTS: LazyLock<Vec<Experiment>> =
    LazyLock::new(|| read::experiments(COMMON, &FILES).unwrap_or_else(|error| panic!("{error:#}")));

/// All experiments, in the order of the papers.
pub(crate) fn experiments() -> &'static [Experiment] {
    &EXPERIMENTS
}

/// The experiments that `ids` name; all if one of them is `all`.
pub(crate) fn named(ids: &[String]) -> anyhow::Result<Vec<&'static Experiment>> {
    let all = experiments();
    let is_known = |id: &String| id == "all" || all.iter().any(|experiment| experiment.id == *id);
    if let Some(unknown) = ids.iter().find(|id| !is_known(id)) {
        return Err(bad_input(format!(
            "there is no experiment {unknown:?}: `springbloom reproduce --list` shows those that are"
        )));
    }
    let is_wanted = |experiment: &&Experiment| ids.iter().any(|id| id == "all" || *id == experiment.id);
    Ok(all.iter().filter(is_wanted).collect())
}

/// The runs of `experiments`, each once, with those of the same databases after one another.
pub(crate) fn runs<'a>(experiments: &[&'a Experiment]) -> Vec<&'a Run> {
    let mut runs = distinct(experiments.iter().flat_map(|experiment| experiment.runs()));
    let programs = distinct(runs.iter().map(|run| run.program.clone()));
    runs.sort_by_key(|run| programs.iter().position(|program| *program == run.program));
    runs
}

/// The names of the figures of a run that any experiment needs: its record has no others.
pub(crate) fn figures_of(run: &Run) -> Vec<&'static str> {
    let of_it =
        experiments().iter().filter(|experiment| experiment.runs().iter().any(|its| its.name == run.name));
    distinct(of_it.flat_map(Experiment::figures))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::experiment::Measurement;
    use crate::run::{Program, Size};
    use crate::tables::Layout;

    fn all() -> Vec<&'static Experiment> {
        experiments().iter().collect()
    }

    #[test]
    fn ids_and_runs_are_told_apart() {
        let all = all();
        let ids: BTreeSet<_> = all.iter().map(|experiment| &experiment.id).collect();
        assert_eq!(ids.len(), all.len());
        let runs = runs(&all);
        let names: BTreeSet<_> = runs.iter().map(|run| run.name.as_str()).collect();
        assert_eq!(names.len(), runs.len(), "two runs have one name");
        for size in [Size::Quick, Size::Full] {
            let commands: BTreeSet<_> = runs.iter().map(|run| run.command(size)).collect();
            assert_eq!(commands.len(), runs.len(), "two runs have one command");
        }
    }

    #[test]
    fn databases_are_used_by_runs_that_follow_one_another() {
        let used = runs(&all()).into_iter().map(|run| run.program.clone());
        let mut used: Vec<_> =
            used.filter(|program| matches!(program, Program::Springbloom { databases: Some(_) })).collect();
        used.dedup();
        assert_eq!(used.len(), distinct(used.iter()).len());
    }

    #[test]
    fn every_experiment_of_the_papers_is_there() {
        let all: Vec<_> = experiments().iter().map(|experiment| experiment.id.as_str()).collect();
        let atc19 = "intro fig2 fig3 fig6 fig10a fig10b fig10c fig10d fig11 inheritance fig12 fig13a fig13b fig13c fig13d fig14a fig14b \
                     fig14c fig14d fig15 fig16a fig16b fig16c fig16d fig16e fig16f fig16g fig16h";
        let others = [
            ("atc19", atc19),
            ("hotstorage18", "fig5 fig6 fig7 table1"),
            ("shamba", "fig2 fig4"),
            ("bloomstore", "ram prefilter lookups"),
            ("bloomflash", "fig2 fig4 fig6 fig7 table2 table3 balance"),
        ];
        for (paper, places) in others {
            for place in places.split_whitespace() {
                assert!(all.contains(&format!("{paper}-{place}").as_str()), "{paper}-{place}");
            }
        }
    }

    #[test]
    fn what_is_not_measured_says_why() {
        for experiment in experiments() {
            match &experiment.measurement {
                Measurement::Missing(why) => assert!(why.len() > 20, "{}: {why}", experiment.id),
                Measurement::Claims { runs, claims } => {
                    assert!(!runs.is_empty() && !claims.is_empty(), "{}", experiment.id);
                }
                Measurement::Table { runs, layout } => {
                    assert!(!runs.is_empty(), "{} has no runs", experiment.id);
                    if let Layout::Runs { labels, .. } = layout {
                        assert!(labels.is_empty() || labels.len() == runs.len(), "{}", experiment.id);
                    }
                }
            }
        }
    }

    #[test]
    fn unknown_ids_are_refused() {
        let error = named(&["atc19-fig99".to_owned()]).err().expect("unknown").to_string();
        assert!(error.contains("atc19-fig99") && error.contains("--list"), "{error}");
        assert_eq!(named(&["all".to_owned()]).expect("all").len(), experiments().len());
    }
}
