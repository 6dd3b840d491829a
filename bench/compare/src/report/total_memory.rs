//! The best stock configuration where all have the same total memory. It is found by trying them, as an expert would.

use springbloom_records::{Figure, Unit};

use crate::run::{Row, labels_of};

const ALL_READS: &str = "all_reads_per_get";
const RATIO: &str = "all_reads_to_best_stock";
/// What a configuration that keeps more than the cache in it may take beyond the others.
const MORE_MEMORY: f64 = 1.02;

/// Whether a configuration is none of RocksDB alone.
fn is_ours(config: &str) -> bool {
    config.starts_with("elastic")
}

/// All reads of each configuration of ours to those of the stock one that reads least in the median, which the label `rival` names; over
/// choices of hot keys. Those whose filters and indexes do not fit are no rivals. Empty where there is no equal memory.
pub(super) fn to_best_stock(rows: &[Row], figures: &[Figure]) -> Vec<Figure> {
    let of = |name: &str, config: &str, threads: u32| {
        let labels = labels_of(config, threads);
        figures.iter().find(|figure| figure.name == name && figure.of == labels).map(|figure| figure.value)
    };
    let mut found: Vec<Figure> = Vec::new();
    for row in rows.iter().filter(|row| is_ours(&row.config)) {
        let (config, threads) = (row.config.as_str(), row.threads);
        let rivals = rows.iter().filter(|rival| rival.threads == threads && !is_ours(&rival.config));
        let least = rows
            .iter()
            .filter_map(|row| of("memory_bytes", &row.config, threads))
            .fold(f64::INFINITY, f64::min);
        let fitting = rivals.filter(|rival| {
            of("memory_bytes", &rival.config, threads).is_some_and(|bytes| bytes <= least * MORE_MEMORY)
        });
        let reads = |rival: &&Row| of(ALL_READS, &rival.config, threads);
        let best = fitting.filter_map(|rival| Some((reads(&rival)?, rival.config.as_str())));
        let Some((_, best)) = best.min_by(|(one, _), (other, _)| one.total_cmp(other)) else { continue };
        let mut labels = labels_of(config, threads);
        labels.insert("rival".to_owned(), best.to_owned());
        if found.iter().any(|figure| figure.of == labels) {
            continue;
        }
        let ratios =
            rows.iter().filter(|own| own.config == config && own.threads == threads).filter_map(|own| {
                let rival = rows.iter().find(|rival| {
                    rival.config == best && (rival.hot_key_seed, rival.threads) == (own.hot_key_seed, threads)
                })?;
                Some(own.value(ALL_READS)? / rival.value(ALL_READS)?)
            });
        found.extend(Figure::over(RATIO, labels, ratios, Unit::Ratio));
    }
    found
}

/// What these say in words.
pub(super) fn sentences(figures: &[Figure]) -> impl Iterator<Item = String> {
    figures.iter().filter(|figure| figure.name == RATIO).map(|figure| {
        let [config, rival] =
            ["config", "rival"].map(|label| figure.of.get(label).map_or("", String::as_str));
        format!(
            "{config} reads {} times as many blocks as the best stock configuration, {rival}.",
            figure.text(2)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::comparison::figures;

    fn row(config: &str, hot_key_seed: u32, memory: f64, reads: f64) -> Row {
        let figure = |name, value, unit| Figure::new(name, labels_of(config, 1), value, unit);
        Row {
            config: config.to_owned(),
            hot_key_seed,
            threads: 1,
            ops_per_s_by_round: Vec::new(),
            figures: vec![
                figure("memory_bytes", memory, Unit::Bytes),
                figure(ALL_READS, reads, Unit::PerLookup),
            ],
        }
    }

    #[test]
    fn the_best_stock_configuration_is_named_and_has_no_more_memory() {
        let rows = [
            row("partitioned:10", 1, 1e6, 1.0),
            row("ribbon:4", 1, 1.01e6, 0.8),
            row("bloom:20", 1, 2e6, 0.3),
            row("elastic:auto", 1, 1e6, 0.6),
            row("partitioned:10", 2, 1e6, 1.0),
            row("ribbon:4", 2, 1.01e6, 0.6),
            row("bloom:20", 2, 2e6, 0.3),
            row("elastic:auto", 2, 1e6, 0.6),
        ];
        let all = figures(&rows, "partitioned:10");
        let ratios: Vec<_> = all.iter().filter(|figure| figure.name == RATIO).collect();
        let [ratio] = ratios[..] else { panic!("{ratios:?}") };
        assert_eq!(ratio.of["rival"], "ribbon:4");
        assert_eq!(ratio.text(2), "0.88 (0.75-1.00)");
        let said: Vec<_> = sentences(&all).collect();
        assert_eq!(
            said,
            [
                "elastic:auto reads 0.88 (0.75-1.00) times as many blocks as the best stock configuration, ribbon:4."
            ]
        );
    }

    #[test]
    fn there_is_no_best_one_without_equal_memory() {
        let mut rows = [row("bloom:4", 1, 1e6, 1.0), row("elastic:4", 1, 1e6, 0.6)];
        for row in &mut rows {
            row.figures.retain(|figure| figure.name != "memory_bytes");
        }
        assert!(to_best_stock(&rows, &figures(&rows, "bloom:4")).is_empty());
    }
}
