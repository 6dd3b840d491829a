//! The page: one HTML file without references to others.

mod chart;
mod sections;

use anyhow::Result;
use maud::{DOCTYPE, PreEscaped, html};
use springbloom_console::is_unprintable;

use crate::experiment::Experiment;
use crate::lab::Lab;

const STYLE: &str = include_str!("style.css");

/// The page of all records.
pub(crate) fn page(experiments: &[Experiment], lab: &Lab) -> Result<String> {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "Springbloom: what was measured" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { "Springbloom: what was measured" }
                    (sections::introduction(lab))
                    nav aria-label="Sections" {
                        @for (id, title) in sections::TITLES {
                            a href={ "#" (id) } { (title) }
                        }
                    }
                }
                main {
                    (sections::verdicts(experiments, lab))
                    (sections::memory(experiments, lab)?)
                    (sections::throughput(lab)?)
                    (sections::budget(lab)?)
                    (sections::tables(experiments, lab)?)
                    (sections::papers(experiments, lab)?)
                    (sections::records(lab))
                }
            }
        }
    };
    // What maud escapes is text, but HTML has no control characters.
    Ok(page.into_string().replace(|c: char| is_unprintable(c) && c != '\n', "\u{fffd}"))
}

#[cfg(test)]
mod tests {
    use springbloom_records::{Clock, Figure, Unit, labels};

    use super::*;
    use crate::catalogue;
    use crate::experiment::Paper;

    fn lab() -> Lab {
        let mut lab = Lab::default();
        let of = |config: &str| labels([("config", config.to_owned()), ("threads", "1".to_owned())]);
        let figures = ["bloom:4", "bloom:8", "elastic:4", "elastic:8"]
            .iter()
            .zip([0.25, 0.05, 0.05, 0.01])
            .flat_map(|(config, wasted)| {
                let bits: f64 =
                    config.split(':').nth(1).and_then(|bits| bits.parse().ok()).unwrap_or_default();
                [
                    Figure::new("wasted_reads_per_get", of(config), wasted, Unit::PerLookup),
                    Figure::new("filter_bytes", of(config), bits * 1e6, Unit::Bytes),
                    Figure::new("lookups_per_s", of(config), 1e4 / wasted, Unit::PerSecond).between(1e3, 1e6),
                    Figure::new("data_reads_per_get", of(config), 0.5 + wasted, Unit::PerLookup),
                ]
            });
        let command = vec!["springbloom".to_owned(), "<script>\0".to_owned()];
        let record = Clock::start().finish(command, 1, &(), figures.collect()).expect("a record");
        for run in ["memory", "leveldb-reads"] {
            lab.put(run, record.clone());
        }
        lab
    }

    #[test]
    fn the_page_is_whole_and_refers_to_nothing() {
        let experiments = catalogue::experiments();
        let text = page(&experiments, &lab()).expect("a page");
        for reference in ["src=", "http-equiv", "@import", "url(", "<script", "<link"] {
            assert!(!text.contains(reference), "{reference}");
        }
        let links = text.match_indices("href=\"").map(|(at, _)| &text[at + 6..]);
        for link in links {
            let target = link.split('"').next().unwrap_or_default();
            let id = target.strip_prefix('#').unwrap_or_else(|| panic!("{target} leads away"));
            assert!(text.contains(&format!("id=\"{id}\"")), "{target} leads nowhere");
        }
        for (id, _) in sections::TITLES {
            assert!(text.contains(&format!("<section id=\"{id}\"")), "{id}");
        }
        for experiment in experiments.iter().filter(|experiment| experiment.paper != Paper::Own) {
            assert!(text.contains(experiment.id), "{}", experiment.id);
        }
        assert!(
            text.contains("&lt;script&gt;\u{fffd}") && !text.contains('\0'),
            "the command of a record is text"
        );
    }

    #[test]
    fn figures_can_be_read_without_seeing_them() {
        let text = page(&catalogue::experiments(), &lab()).expect("a page");
        let pictures: Vec<_> = text.match_indices("<svg").map(|(at, _)| &text[at..]).collect();
        assert!(pictures.len() >= 2, "{} pictures", pictures.len());
        for picture in pictures {
            let opening = picture.split('>').next().unwrap_or_default();
            assert!(opening.contains("role=\"img\"") && opening.contains("aria-label=\""), "{opening}");
            assert!(picture.contains("<title>"), "a title");
        }
        assert_eq!(text.matches("<figure").count(), text.matches("<figcaption").count());
        assert_eq!(text.matches("<table").count(), text.matches("<thead").count());
    }

    #[test]
    fn every_filter_of_a_simulation_has_a_colour_of_its_own() {
        let filters =
            "uniform monkey multi-queue benefit bloom monkey-bloom monkey-ribbon at-compaction optimum";
        let figures = filters.split(' ').flat_map(|filter| {
            [("1", 0.5), ("2", 0.2)].map(|(bits, wasted)| {
                let of = labels([("config", filter.to_owned()), ("bits_per_key", bits.to_owned())]);
                Figure::new("wasted_reads_per_get", of, wasted, Unit::PerLookup)
            })
        });
        let record = Clock::start().finish(Vec::new(), 1, &(), figures.collect()).expect("a record");
        let mut lab = Lab::default();
        lab.put("memory-simulated", record);
        let text = page(&catalogue::experiments(), &lab).expect("a page");
        let colours = text.split("style=\"background:").skip(1).filter_map(|rest| rest.split('"').next());
        let colours: std::collections::BTreeSet<_> = colours.collect();
        assert_eq!(colours.len(), filters.split(' ').count(), "{colours:?}");
    }

    #[test]
    fn what_is_folded_away_is_printed() {
        let text = page(&catalogue::experiments(), &lab()).expect("a page");
        let (_, print) = text.split_once("@media print").expect("a style for printers");
        assert!(print.contains("#papers details::details-content { content-visibility: visible; }"));
    }

    #[test]
    fn without_records_there_is_a_page_that_says_so() {
        let text = page(&catalogue::experiments(), &Lab::default()).expect("a page");
        assert!(text.contains("springbloom reproduce"), "what to do");
    }
}
