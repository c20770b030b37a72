"""What tools/answers asks the program: commands by case, and commands that are refused."""

from answers_inputs import LEARN

# A line without indentation names a case, the lines below it are its commands. [--json] runs a
# command twice, without and with it.
ANSWERS = f"""
version
  --version
  --version --json
help
  --help
  help
  help solve
pages
  --print-options-md
  --print-json-md

solve-demo
  solve --demo --explain [--json]
  solve --demo --print-config
solve-oscar
  solve --prices market.csv -k 4 --optimizer oscar --explain [--json]
solve-symmetric
  solve --prices market.csv -k 4 --optimizer symmetric --explain [--json]
solve-greedy
  solve --prices market.csv -k 4 --optimizer greedy --explain [--json]
solve-swap
  solve --prices market.csv -k 4 --optimizer swap --explain [--json]
solve-mssrm
  solve --prices market.csv -k 4 --optimizer mssrm --explain [--json]
solve-mssrm-long
  solve --prices market.csv -k 4 --optimizer mssrm-long [--json]
  solve --prices market.csv -k 4 --optimizer mssrm-long --sizing volatility --explain [--json]
solve-sdr
  solve --prices market.csv -k 4 --optimizer sdr --explain [--json]
  solve --prices market.csv -k 4 --optimizer sdr --sdr-recovery match --sdr-gap 1e-4 [--json]
solve-sizing
  solve --prices market.csv -k 3 --sizing budget --offset 0.02 [--json]
  solve --prices market.csv -k 3 --sizing volatility --target-volatility 0.2 [--json]
  solve --prices market.csv -k 3 --sizing gross --net any [--json]
  solve --prices market.csv -k 3 --sizing volatility --net any --optimizer oscar [--json]
solve-net
  solve --prices market.csv -k 3 --net any --optimizer symmetric --explain --json
  solve --prices market.csv -k 3 --net any --optimizer greedy --explain --json
  solve --prices market.csv -k 3 --net any --optimizer mssrm --explain --json
  solve --prices market.csv -k 3 --net any --optimizer mssrm-long --explain --json
  solve --prices market.csv -k 3 --net any --optimizer sdr --explain --json
solve-certify
  solve --prices market.csv -k 3 --certify [--json]
  solve --prices market.csv -k 3 --certify --bound sdp [--json]
  solve --prices market.csv -k 3 --certify --bound perspective --net any [--json]
  solve --prices market.csv -k 3 --certify --optimizer oscar --explain [--json]
solve-forms
  solve --prices wide.csv --lookback 30 -k 5 --form dense --explain [--json]
  solve --prices wide.csv --lookback 30 -k 5 --form low-rank --explain [--json]
  solve --prices wide.csv --lookback 30 -k 5 --optimizer oscar [--json]
  solve --prices wide.csv --lookback 30 -k 5 --optimizer mssrm --form low-rank [--json]
  solve --prices wide.csv --lookback 30 -k 10% --optimizer sdr --form low-rank [--json]
  solve --prices wide.csv --lookback 30 -k 5 --certify --bound perspective --form low-rank --json
solve-moments
  solve --moments orlib.txt -k 3 --explain [--json]
  solve --moments orlib.txt --format orlib -k 25% --certify --shrinkage 0.2 --json
  solve --mean mean.csv --cov cov.csv -k 3 --explain [--json]
  solve --mean mean.csv --cov cov.csv -k 3 --optimizer mssrm-long --json
  solve --mean mean.csv --cov cov.csv -k 2 --optimizer sdr --net any --json
solve-windows
  solve --prices market.csv --lookback all --shrinkage 0 -k 3 [--json]
  solve --prices market.csv --lookback 20 --from 2015-03 --to 2015-09 --shrinkage 1 -k 3 --json
  solve --returns returns.csv --lookback 60 -k 3 --json
  solve --returns gross.csv --gross --lookback 60 -k 3 [--json]
  solve --prices small.csv.gz -k 2 --json
  solve --prices long.csv -k 2 --json
  solve --prices monthly.csv -k 2 [--json]
  solve --prices monthly.csv -k 2 --periods-per-year 12 --json
  solve --prices odd_names.csv -k 6 --explain [--json]
  solve --prices odd_names.csv -k 1 --tickers '"A,B",Ω,=1+1' --json
solve-cleaning
  solve --prices ill.csv -k 3 [--json]
  solve --prices ill.csv -k 3 --universe available [--json]
  solve --prices ill.csv -k 3 --on-suspect adjust --max-gap 20 --json
  solve --prices ill.csv -k 3 --on-suspect drop-asset --allow-loss 90% --json
  solve --prices ill.csv -k 3 --on-suspect drop-day --allow-loss 90% --json
  solve --prices ill.csv -k 3 --on-suspect error
solve-statuses
  solve --mean falling.csv --cov cov3.csv -k 2 [--json]
  solve --mean falling.csv --cov cov3.csv -k 1 [--json]
  solve --mean falling.csv --cov cov3.csv -k 1 --net any --explain [--json]
  solve --mean falling.csv --cov cov3.csv -k 2 --sizing budget [--json]
  solve --mean falling.csv --cov cov3.csv -k 2 --optimizer mssrm --certify [--json]
  solve --mean falling.csv --cov cov3.csv -k 2 --optimizer sdr --explain [--json]
  solve --prices flat.csv --lookback all -k 2 --shrinkage 0 [--json]
solve-config
  solve --config mine.toml
  solve --config mine.toml --json=false -k 2
  solve --config mine.toml --print-config
  solve --prices market.csv --log-level debug -k 3
  solve --prices market.csv --log-level info -k 3
solve-threads
  solve --prices wide.csv --lookback 30 -k 5 --threads 1 --json
  solve --prices wide.csv --lookback 30 -k 5 --threads 2 --json

simulate
  simulate --assets 4 --days 30 --out a.csv [--json]
  simulate --assets 4 --days 30 --seed 7 --predictability 0 --factors 1 --start-date 2020-02-29
  simulate --assets 70 --days 5 --factors 64 --predictability 1 --out b.csv
  simulate --assets 3 --days 4 --out b.csv.gz
  simulate --assets 3 --days 4 --out c.csv --log-level info
  doctor a.csv

doctor-report
  doctor ill.csv [--json]
  doctor --prices ill.csv --universe available --max-gap 2 [--json]
doctor-adjust
  doctor ill.csv --on-suspect adjust --out clean.csv [--json]
  doctor ill.csv --on-suspect drop-asset --allow-loss 90% --out clean-b.csv [--json]
  doctor ill.csv --on-suspect drop-day --allow-loss 90% --out clean-c.csv --universe available [--json]
  doctor ill.csv --on-suspect error
doctor-decisions
  doctor ill.csv --decide decisions.toml
  doctor ill.csv --decide decisions.toml
  doctor ill.csv --decisions decisions.toml --details
  doctor ill.csv --exclude S001 --on-suspect report,split=adjust --json
  backtest --prices ill.csv --decisions decisions.toml -k 3 --lookback 40 --json
doctor-returns
  doctor --returns returns.csv [--json]
  doctor --returns gross.csv --gross --from 2015-06 --tickers S003,S001 [--json]
  doctor nonpositive.csv [--json]
  doctor nonpositive.csv --on-suspect adjust --out fixed.csv --json
  doctor gross.csv
  doctor long.csv --json
  doctor odd_names.csv --out names.csv

backtest-oscar
  backtest --prices market.csv -k 3 --lookback 40 --optimizer oscar --out run
  backtest --prices market.csv -k 3 --lookback 40 --optimizer oscar --json
backtest-symmetric
  backtest --prices market.csv -k 3 --lookback 40 --optimizer symmetric --out run
backtest-greedy
  backtest --prices market.csv -k 3 --lookback 40 --optimizer greedy --out run
backtest-swap
  backtest --prices market.csv -k 3 --lookback 40 --optimizer swap --out run [--json]
backtest-mssrm
  backtest --prices market.csv -k 3 --lookback 40 --optimizer mssrm --out run [--json]
backtest-mssrm-long
  backtest --prices market.csv -k 3 --lookback 40 --optimizer mssrm-long --out run [--json]
backtest-sdr
  backtest --prices market.csv -k 3 --lookback 60 --rebalance 5 --optimizer sdr --out run [--json]
backtest-sdr-match
  backtest --prices market.csv -k 3 --optimizer sdr --sdr-recovery match --sdr-match monthly --out run
  backtest --prices market.csv -k 3 --optimizer sdr --sdr-recovery match --rebalance 20 --json
backtest-equal
  backtest --prices market.csv --optimizer equal --min-history 0 --out run [--json]
backtest-costs
  backtest --prices market.csv -k 3 --lookback 40 --cost-bps 10 --rebalance 5 --risk-free 0.02 --benchmark S002 --trials 10 --label Mine --out run
  backtest --prices market.csv -k 3 --lookback 40 --cost-bps 10 --rebalance 5 --risk-free 0.02 --benchmark S002 --trials 10 --json
backtest-budget
  backtest --prices market.csv -k 3 --lookback 40 --sizing budget --out run
  backtest --prices market.csv -k 3 --lookback 40 --sizing budget --offset 1 [--json]
  backtest --prices market.csv -k 3 --lookback 40 --sizing budget --held-sizing gross --json
backtest-gross
  backtest --prices market.csv -k 25% --lookback 40 --sizing gross --net any --out run [--json]
backtest-historic
  backtest --prices market.csv -k 3 --framework historic --lookback 40 --out run [--json]
  backtest --prices market.csv -k 3 --framework historic --lookback 40 --historic-risk train --optimizer oscar --json
  backtest --prices market.csv -k 3 --framework historic --lookback 40 --split 2015-09 --optimizer mssrm --json
  backtest --prices market.csv -k 3 --framework historic --lookback 40 --optimizer sdr --split 90% --json
  backtest --prices market.csv -k 3 --framework historic --lookback 40 --optimizer mssrm-long --json
backtest-signal
  backtest --prices market.csv -k 3 --framework signal --signal signal.csv --lookback 40 --out run [--json]
  backtest --prices market.csv -k 3 --framework signal --signal signal.csv --optimizer oscar --json
  backtest --prices market.csv -k 3 --framework signal --signal signal.csv --optimizer symmetric --json
  backtest --prices market.csv -k 3 --framework signal --signal signal.csv --optimizer greedy --json
  backtest --prices market.csv -k 3 --framework signal --signal signal.csv --optimizer mssrm --json
  backtest --prices market.csv -k 3 --framework signal --signal signal.csv --optimizer mssrm-long --json
  backtest --prices market.csv -k 3 --framework signal --signal signal.csv --optimizer sdr --rebalance 10 --json
  backtest --prices market.csv -k 3 --framework signal --signal signal.csv --optimizer equal --json
backtest-net
  backtest --prices market.csv -k 3 --lookback 40 --net any --optimizer oscar --json
  backtest --prices market.csv -k 3 --lookback 40 --net any --optimizer symmetric --json
  backtest --prices market.csv -k 3 --lookback 40 --net any --optimizer greedy --json
  backtest --prices market.csv -k 3 --lookback 40 --net any --optimizer mssrm --json
  backtest --prices market.csv -k 3 --lookback 40 --net any --optimizer mssrm-long --json
  backtest --prices market.csv -k 3 --lookback 40 --net any --optimizer sdr --rebalance 10 --json
  backtest --prices market.csv --net any --optimizer equal --json
backtest-words
  backtest --prices market.csv -k 3 --lookback 40 --log-level debug
  backtest --prices ill.csv -k 3 --lookback 40 --log-level info --json
  backtest --config walk.toml
  backtest --config walk.toml --print-config
backtest-windows
  backtest --prices market.csv -k 3 --lookback all --min-history 50 --stats-from 60 [--json]
  backtest --prices market.csv -k 3 --lookback 60 --min-history 5 --stats-from 2015-08 --json
  backtest --returns gross.csv --gross -k 3 --form dense --lookback 40 --json
  backtest --prices wide.csv -k 3 --lookback 30 --form low-rank --out run
  backtest --prices wide.csv -k 3 --lookback 30 --form dense --json
  backtest --prices monthly.csv -k 2 --lookback 40 --periods-per-year 12 --block 6 --replications 500 [--json]
backtest-cleaning
  backtest --prices ill.csv -k 3 --lookback 40 --universe available --on-suspect adjust --out run [--json]
  backtest --prices ill.csv -k 3 --lookback 40 [--json]
  backtest --prices ill.csv -k 3 --lookback 40 --universe available --optimizer mssrm-long --json
  backtest --prices ill.csv -k 3 --lookback 40 --universe available --optimizer equal --json
  backtest --prices ill.csv -k 3 --lookback 40 --on-suspect drop-asset --allow-loss 90% --json
  backtest --prices ill.csv -k 3 --lookback 40 --on-suspect drop-day --allow-loss 90% --json
backtest-threads
  backtest --prices market.csv -k 3 --lookback 40 --threads 1 --json
  backtest --prices market.csv -k 3 --lookback 40 --threads 2 --json
backtest-folders
  backtest --prices small.csv -k 2 --out run-a
  backtest --prices small.csv -k 2 --out mine
  backtest --prices small.csv -k 2 --out mine --force
backtest-slips
  backtest --prices small.csv -k 2 --risk-free 5 --cost-bps 10000 --periods-per-year 12
  backtest --returns gross.csv -k 2
  backtest --prices gross.csv -k 2 --lookback 40
backtest-pfl
  backtest --prices market.csv {LEARN} --framework pfl --out run
  backtest --prices market.csv {LEARN} --framework pfl --optimizer oscar --json
backtest-dfl
  backtest --prices market.csv {LEARN} --framework dfl --out run [--json]
  backtest --prices market.csv {LEARN} --framework dfl --optimizer sdr --json
  backtest --prices market.csv {LEARN} --framework dfl --optimizer mssrm --seed 3 --json
  backtest --prices market.csv {LEARN} --framework dfl --optimizer mssrm-long --json
backtest-paper
  backtest --prices market.csv {LEARN} --framework dfl --preset paper --optimizer oscar --out run
  backtest --prices market.csv {LEARN} --framework pfl --preset paper --held-sizing volatility --json
backtest-retrain
  backtest --prices market.csv {LEARN} --framework dfl --retrain 20 --out run [--json]
backtest-soft
  backtest --prices market.csv {LEARN} --framework dfl --decision soft --out run [--json]
  backtest --prices market.csv -k 3 --decision soft --optimizer oscar --lookback 40 --beta 20 --json
  backtest --prices market.csv -k 3 --decision soft --framework historic --reoptimization restricted --raw-score --json
backtest-model
  backtest --prices market.csv --framework dfl --model early.sharpen --out run [--json]
  backtest --prices market.csv --framework dfl --model early.sharpen -k 2 --optimizer oscar --sizing gross --json
backtest-available-network
  backtest --prices ill.csv {LEARN} --framework dfl --universe available --out run [--json]

compare
  compare run-a run-b [--json]
  compare --first run-a --second run-b --replications 500 --block 5 --seed 3 [--json]
  compare run-a run-a
  compare run-a run-c

train-dfl
  train --prices market.csv {LEARN} --out m.sharpen [--json]
  inspect m.sharpen [--json]
train-pfl
  train --prices market.csv {LEARN} --framework pfl --out m.sharpen --json
  train --prices market.csv {LEARN} --alpha 0 --out n.sharpen --threads 1
train-paper
  train --prices market.csv {LEARN} --preset paper --out m.sharpen [--json]
  train --preset paper --print-config
  train --preset default --print-config
train-scores
  train --prices market.csv {LEARN} --score cholesky --out a.sharpen --json
  train --prices market.csv {LEARN} --score cholesky --raw-score --out b.sharpen --json
  train --prices market.csv {LEARN} --score symmetric --raw-score --topk bisection --out c.sharpen --json
train-reoptimization
  train --prices market.csv {LEARN} --reoptimization restricted --out a.sharpen --json
  train --prices market.csv {LEARN} --reoptimization restricted --mixing balanced --network joint --out b.sharpen --json
  train --prices market.csv {LEARN} --decision-loss sharpe --mixing balanced --horizon 3 --out c.sharpen --json
train-sizing
  train --prices market.csv {LEARN} --sizing budget --offset 0.1 --out a.sharpen --json
  train --prices market.csv {LEARN} --sizing gross --net any --out b.sharpen --json
  train --prices market.csv {LEARN} --target-volatility 0.2 --shrinkage 0.3 --out c.sharpen --json
train-steps
  train --prices market.csv {LEARN} --beta 2 --beta-final 50 --warm-start 0 --validation 0 --weight-decay 0.1 --clip 1 --learning-rate 0.01 --patience 2 --seed 9 --out a.sharpen --json
  train --prices wide.csv -k 5 --lookback 20 --hidden 8 --batch 16 --epochs 2 --ensemble 1 --form low-rank --out b.sharpen --json
  train --prices wide.csv -k 5 --lookback 20 --hidden 8 --batch 16 --epochs 2 --ensemble 1 --form dense --threads 2 --out c.sharpen --json
  train --returns gross.csv --gross {LEARN} --from 2015-03 --to 2015-11 --tickers S001,S002,S003,S005 --out d.sharpen
train-dry-run
  train --prices market.csv {LEARN} --dry-run [--json]
train-diverges
  train --prices market.csv {LEARN} --learning-rate 1e30 --out m.sharpen
  train --prices market.csv {LEARN} --resume --out n.sharpen

inspect
  inspect dfl.sharpen [--json]
  inspect --model pfl.sharpen [--json]
  inspect joint.sharpen [--json]

predict-dfl
  predict --model dfl.sharpen --prices market.csv --asof 2016-02-24 --explain [--json]
  predict --model dfl.sharpen --prices market.csv --asof 2016-02-24 --out w.csv --trades t.csv
predict-pfl
  predict --model pfl.sharpen --prices market.csv --asof 2016-02-24 --optimizer oscar --explain [--json]
  predict --model pfl.sharpen --prices market.csv --asof 2016-02-24 --optimizer sdr --explain --json
  predict --model pfl.sharpen --prices market.csv --asof 2016-02-24 --optimizer mssrm --explain --json
  predict --model pfl.sharpen --prices market.csv --asof 2016-02-24 --optimizer greedy -k 5 --json
  predict --model pfl.sharpen --prices market.csv --asof 2016-02-24 --optimizer symmetric --json
  predict --model pfl.sharpen --prices market.csv --asof 2016-02-24 --optimizer mssrm-long --json
predict-joint
  predict --model joint.sharpen --returns returns.csv --asof 2016-02-24 --sizing volatility --net any --shrinkage 0.5 --form dense [--json]
  predict --model joint.sharpen --prices market.csv --asof 2016-02-24 --sizing budget --periods-per-year 250 --json
predict-trades
  predict --model dfl.sharpen --prices market.csv --asof 2016-02-24 --previous previous.csv --capital 1e6 --lot 10 --out w.csv --trades t.csv [--json]
  predict --model dfl.sharpen --prices market.csv --asof 2016-02-24 --previous w.csv --trades u.csv
predict-orders
  predict --framework rolling --prices market.csv --asof 2016-02-24 -k 3 --capital 1e5 --lot 10 --out-dir next [--json]
  predict --framework rolling --prices market.csv --asof 2016-02-25 -k 3 --positions next/positions.csv --lot 10 --min-order 500 --out-dir next --json
  predict --model dfl.sharpen --prices market.csv --asof 2016-02-24 --out-dir other --out w.csv
  backtest --prices market.csv -k 3 --capital 1e5 --lot 10 --replications 50 --out run
  predict --continue run --prices market.csv --json
predict-ages
  predict --model dfl.sharpen --prices market.csv --asof 2016-04-01
  predict --model dfl.sharpen --prices market.csv --asof 2016-04-01 --max-age 10
  predict --model dfl.sharpen --prices market.csv --asof 2015-08-01 --require-ok --out w.csv
  predict --model dfl.sharpen --prices market.csv --asof 2015-01-20
  predict --model dfl.sharpen --prices market.csv --max-age 30
predict-panels
  predict --model dfl.sharpen --prices ill.csv --asof 2016-02-24
  predict --model dfl.sharpen --prices small.csv --asof 2016-02-24
  predict --model dfl.sharpen --prices more.csv --asof 2016-02-24 [--json]

study-toml
  study study.toml --out out --json
  study study.toml --out out
  study --list --out out [--json]
  study study.toml --print-config
study-threads
  study study.toml --out out --threads 1
  report out --format csv --table sharpe,drawdown --replications 200
study-lists
  study --prices market.csv,small.csv -k 2,50% --frameworks rolling,historic,pfl,dfl --optimizers oscar,swap,equal --trainings paper,default --alphas 0.5,1 --costs 0,10 --seeds 1 --lookback 20 --hidden 4 --epochs 2 --batch 32 --ensemble 1 --out out [--json]
  study --list --out out
study-every-optimizer
  study --prices small.csv -k 2 --frameworks rolling,historic --optimizers oscar,symmetric,greedy,swap,mssrm,mssrm-long,sdr,equal --lookback 30 --out out --json
study-every-learner
  study --prices small.csv -k 2 --frameworks pfl,dfl --optimizers oscar,symmetric,greedy,swap,mssrm,mssrm-long,sdr,equal --seeds 1 --ensemble 1 --hidden 4 --epochs 2 --batch 32 --lookback 20 --log-level info --out out --json
study-presets
  study --preset demo --print-config
  study --preset paper --prices small.csv --print-config
  study --preset alpha --prices small.csv --print-config
  study --preset paper --prices small.csv --dry-run --lookback 20 --out none [--json]
study-demo
  study --preset demo --epochs 2 --hidden 4 --seeds 1 -k 10% --out out --json
study-alpha
  study --preset alpha --prices small.csv -k 2 --seeds 3,7 --epochs 2 --hidden 4 --lookback 20
  study --list --out study-alpha --json
study-grows
  study --prices small.csv --frameworks historic --lookback 30 -k 2 --out out
  study --prices small.csv --frameworks historic --lookback 30 -k 2,3 --out out
  study --prices small.csv --frameworks historic --lookback 30 -k 3 --out out
  study --prices small.csv --frameworks historic --lookback 40 -k 2,3 --out out
  study --prices small.csv --frameworks historic --lookback 30 -k 2,3 --on-suspect adjust --out out
  study --prices small.csv --frameworks historic --lookback 40 -k 2 --out out --force
study-fails
  study failing.toml --out out [--json]
  study failing.toml --out out --retry
  study --list --out out [--json]
study-dry-run
  study study.toml --dry-run --out none [--json]
  study study.toml --dry-run --out study
  study --prices small.csv --risk-free 2 --costs 10000 --seeds 1 --dry-run --out none
study-soft
  study study.toml --retrain 15 --decision soft --seeds 1 --out out --json
study-markets
  study markets.toml --out out --json
  study markets.toml --print-config
  report out --table sharpe,performance,trading --replications 200

report-text
  report study --replications 500
  report study/study.db --table drawdown,sharpe --replications 500
report-paper
  report paper --replications 500
  report paper --table planned,sharpe --format md --replications 500
  report paper --json --out r.html --replications 500
report-md
  report study --format md --out r.md --replications 500
report-latex
  report study --out r.tex --replications 500
report-csv
  report study --format csv --replications 500
report-html
  report study --format html --replications 500
  report study --out r.html --replications 500 --seed 3
report-json
  report study --json --replications 500
  report alpha --json --out alpha.md --replications 500
report-alpha
  report alpha --replications 500
  report alpha --out alpha.html --replications 500
report-failed
  report failed --replications 500 [--json]

settings-without-effect
  solve --demo --bound sdp
  solve --demo --sdr-gap 0.1
  solve --demo --sdr-recovery match
  solve --demo --optimizer mssrm-long --certify
  backtest --prices market.csv --framework pfl --alpha 0.5
  backtest --prices market.csv --framework historic --optimizer equal
  backtest --prices market.csv --sdr-match monthly
  backtest --prices small.csv -k 2 --out no/such/place
  backtest --prices small.csv --framework signal --signal signal.csv
  compare run-a run-c
  train --prices market.csv {LEARN} --out m --framework pfl --alpha 0.5
  train --prices market.csv {LEARN} --out m --resume --dry-run

data-ff25
  backtest --returns ff25_monthly_gross.csv --gross --optimizer equal --min-history 0 --stats-from 2 --periods-per-year 12 --replications 500 --json
  backtest --returns ff25_monthly_gross.csv --gross --optimizer mssrm-long -k 10 --lookback 60 --min-history 5 --stats-from 2 --periods-per-year 12 --replications 500 --out run
data-ff100
  backtest --returns ff100_monthly_gross.csv --gross -k 10 --lookback 60 --periods-per-year 12 --replications 500 --out run
  solve --returns ff100_monthly_gross.csv --gross -k 10 --periods-per-year 12 --certify --explain --json
data-ftse
  doctor ftse100_2000_2023.csv
  solve --prices ftse100_2000_2023.csv -k 10% --universe available --explain --json
  backtest --prices ftse100_2000_2023.csv -k 10% --from 2018 --universe available --on-suspect adjust --rebalance 5 --cost-bps 5 --replications 500 --json
data-nikkei
  doctor nikkei225_2014_2025.csv --json
  solve --prices nikkei225_2014_2025.csv -k 10% --explain --json
  solve --prices nikkei225_2014_2025.csv -k 10 --optimizer sdr --on-suspect adjust --json
data-sp500
  backtest --prices sp500_20_1990_2022.csv -k 4 --from 2015 --framework historic --optimizer mssrm --replications 500 --json
  train --prices sp500_20_1990_2022.csv -k 4 --from 2017 --lookback 20 --hidden 8 --epochs 2 --ensemble 1 --out m.sharpen --json
data-us
  solve --prices us_liquid_2016_2025.csv -k 10 --optimizer oscar --json
  solve --prices us_liquid_2016_2025.csv -k 10 --on-suspect drop-asset --explain --json
data-orlib
  solve --moments port1.txt -k 5 --certify --json
  solve --moments port2.txt -k 10% --explain --json
  solve --moments port3.txt -k 10 --optimizer sdr --json

python-solve
  python solve market.csv small.csv
python-backtest
  python backtest market.csv ill.csv signal.csv early.sharpen nonpositive.csv
python-training
  python training market.csv dfl.sharpen pfl.sharpen joint.sharpen
python-study
  python study small.csv study study.toml failed
python-panels
  python panels small.csv
python-layer
  python layer market.csv
python-estimator
  python estimator market.csv
python-help
  python help
python-errors
  python errors market.csv small.csv ill.csv dfl.sharpen early.sharpen study run-a
python-settings
  python settings options.md market.csv small.csv dfl.sharpen study run-a run-b
"""

# Commands that are refused, one to a line; each is a case, "wrong-" and the name before the colon.
WRONG = f"""
no-command:
command: slove
command-far: zebra
option-of-the-program: --versoin
option-before: --json solve --demo
option: solve --optimzer swap
option-with-value: solve --optimzer=swap
option-short: solve -x
argument: solve --demo stray
file-without-flag: backtest small.csv
no-value: solve --prices
twice: solve --demo -k 3 -k 5
empty: solve --prices ''
switch: solve --demo --json=banana
escape: solve --demo 'a\x1b[2Jb'
nothing-to-solve: solve
two-sources: solve --prices small.csv --returns returns.csv
mean-alone: solve --mean mean.csv
gross-prices: solve --prices small.csv --gross
from-moments: solve --moments orlib.txt --from 2020
lookback-moments: solve --mean mean.csv --cov cov.csv --lookback 5
format-demo: solve --demo --format orlib
low-rank-moments: solve --moments orlib.txt --form low-rank
low-rank-shrinkage: solve --prices market.csv --form low-rank --shrinkage 0
net-budget: solve --demo --net any --sizing budget
equal-solve: solve --demo --optimizer equal
k-above: solve --demo -k 13
k-share: solve --demo -k 101%
k-half: solve --demo -k 2.5
lookback-long: solve --prices small.csv --lookback 5000
ticker: solve --demo --tickers ALDER,BIRHC
ticker-twice: solve --demo --tickers ALDER,ALDER
dates-exchanged: solve --demo --from 2024-06 --to 2024-01
date: solve --demo --from soon
date-after: solve --demo --from 2030-01-01
threads: solve --demo --threads 2000

missing-file: solve --prices none.csv
folder-as-file: solve --prices run-a
empty-file: solve --prices empty.csv
header-only: solve --prices header.csv
ragged: solve --prices ragged.csv
text-cell: solve --prices oops.csv
twice-ticker: solve --prices twins.csv
twice-date: solve --prices again.csv
unsorted: solve --prices unsorted.csv
bad-date: solve --prices bad_date.csv
returns-as-prices: solve --prices returns.csv
prices-as-returns: solve --returns small.csv
gross-as-returns: solve --returns gross.csv
constant: solve --prices constant.csv --lookback all
absurd: solve --prices absurd.csv --lookback all
nonpositive: solve --prices nonpositive.csv
binary: solve --prices dfl.sharpen
broken-gzip: solve --prices broken.csv.gz
not-symmetric: solve --mean mean2.csv --cov skew.csv
not-psd: solve --mean mean2.csv --cov indefinite.csv
mean-nan: solve --mean nan.csv --cov eye.csv
other-names: solve --mean mean2.csv --cov other.csv
zero-variance: solve --mean mean2.csv --cov zero.csv
huge: solve --mean huge.csv --cov tiny.csv -k 2
orlib-short: solve --moments short.txt
orlib-text: solve --moments small.csv

config-missing: solve --config none.toml
config-key: solve --config key.toml
config-type: solve --config type.toml
config-syntax: solve --config syntax.toml
config-table: solve --config table.toml
config-bound: solve --config bound.toml
config-choice: backtest --config choice.toml
config-clash: solve --demo --config clash.toml
config-of-another: solve --config study.toml
config-as-value: doctor --config market.csv

simulate-assets: simulate --assets 0
simulate-date: simulate --start-date x
simulate-json: simulate --assets 3 --days 5 --json
simulate-folder: simulate --assets 3 --days 5 --out no/such/folder.csv
simulate-over: simulate --assets 3 --days 5 --out run-a
doctor-nothing: doctor
doctor-out: doctor small.csv --out small.csv
doctor-suspect: doctor ill.csv --on-suspect error --out c.csv

backtest-nothing: backtest
backtest-signal-missing: backtest --prices market.csv --framework signal
backtest-signal-unasked: backtest --prices market.csv --signal signal.csv
backtest-signal-columns: backtest --prices market.csv --framework signal --signal small.csv
backtest-model-missing: backtest --prices market.csv --framework dfl --model none.sharpen
backtest-model-rolling: backtest --prices market.csv --model dfl.sharpen
backtest-model-seen: backtest --prices market.csv --framework dfl --model dfl.sharpen
backtest-model-kind: backtest --prices market.csv --framework pfl --model early.sharpen
backtest-model-retrain: backtest --prices market.csv --framework dfl --model early.sharpen --retrain 5
backtest-model-lookback: backtest --prices market.csv --framework dfl --model early.sharpen --lookback 9
backtest-model-epochs: backtest --prices market.csv --framework dfl --model early.sharpen --epochs 3
backtest-model-split: backtest --prices market.csv --framework dfl --model early.sharpen --split 50%
backtest-model-panel: backtest --prices small.csv --framework dfl --model early.sharpen
backtest-alpha: backtest --prices market.csv --alpha 0.5
backtest-retrain: backtest --prices market.csv --retrain 5
backtest-preset: backtest --prices market.csv --preset paper
backtest-beta: backtest --prices market.csv --beta 3
backtest-risk: backtest --prices market.csv --historic-risk train
backtest-available-historic: backtest --prices ill.csv --framework historic --universe available
backtest-available-joint: backtest --prices ill.csv {LEARN} --framework dfl --universe available --network joint
backtest-equal-dfl: backtest --prices market.csv {LEARN} --framework dfl --optimizer equal
backtest-history: backtest --prices market.csv --min-history 0
backtest-history-dfl: backtest --prices market.csv {LEARN} --framework dfl --min-history 5
backtest-history-long: backtest --prices market.csv --min-history 5000
backtest-soft-sdr: backtest --prices market.csv --decision soft --optimizer sdr
backtest-soft-train: backtest --prices market.csv --decision soft --framework historic --historic-risk train
backtest-split: backtest --prices market.csv --split 150%
backtest-split-late: backtest --prices market.csv --split 2030-01-01
backtest-stats: backtest --prices market.csv --stats-from soon
backtest-stats-late: backtest --prices market.csv --stats-from 5000
backtest-benchmark: backtest --prices market.csv --benchmark S0O1
backtest-held: backtest --prices market.csv --net any --held-sizing budget
backtest-lookback: backtest --prices market.csv --lookback 5000
backtest-k: backtest --prices market.csv -k 40
backtest-block: backtest --prices market.csv --block 5000
backtest-over-input: backtest --prices run-a/returns.csv --out run-a
backtest-out-file: backtest --prices small.csv -k 2 --out small.csv
backtest-out-held: backtest --prices small.csv -k 2 --out study

compare-nothing: compare
compare-one: compare run-a
compare-three: compare run-a run-b run-c
compare-missing: compare run-a none
compare-no-run: compare run-a study
compare-metrics: compare run-a hollow
compare-returns: compare run-a words

train-out: train --prices market.csv {LEARN}
train-batch: train --prices market.csv --lookback 20 --out m --batch 500
train-k: train --prices small.csv --out m -k 13
train-lookback: train --prices market.csv --out m --lookback all
train-lookback-long: train --prices market.csv --out m --lookback 400
train-hidden: train --prices market.csv --out m --hidden 16,x
train-framework: train --prices market.csv --out m --framework rolling
train-signal: train --prices market.csv --out m --framework signal
train-universe: train --prices market.csv --out m --universe available
train-net: train --prices market.csv --out m --sizing budget --net any
train-sharpe: train --prices market.csv --lookback 20 --out m --decision-loss sharpe --batch 1
train-folder: train --prices market.csv {LEARN} --out no/such/folder/m
train-over-folder: train --prices market.csv {LEARN} --out run-a
train-over-input: train --prices market.csv {LEARN} --out market.csv
train-over-other: train --prices market.csv {LEARN} --out small.csv
train-preset: train --preset papper --print-config
train-nothing: train --out m

inspect-nothing: inspect
inspect-missing: inspect none
inspect-text: inspect small.csv
inspect-cut: inspect cut.sharpen
inspect-altered: inspect altered.sharpen
inspect-newer: inspect newer.sharpen
inspect-empty: inspect empty.csv
predict-nothing: predict
predict-no-model: predict --prices market.csv
predict-no-prices: predict --model dfl.sharpen
predict-cut: predict --model cut.sharpen --prices market.csv
predict-columns: predict --model dfl.sharpen --prices small.csv --asof 2016-02-24
predict-equal: predict --model dfl.sharpen --prices market.csv --asof 2016-02-24 --optimizer equal
predict-k: predict --model dfl.sharpen --prices market.csv --asof 2016-02-24 -k 50
predict-asof: predict --model dfl.sharpen --prices market.csv --asof 2010-01-01
predict-lot: predict --model dfl.sharpen --prices market.csv --asof 2016-02-24 --lot 5
predict-capital: predict --model dfl.sharpen --returns returns.csv --asof 2016-02-24 --capital 100
predict-previous: predict --model dfl.sharpen --prices market.csv --asof 2016-02-24 --previous market.csv
predict-previous-twice: predict --model dfl.sharpen --prices market.csv --asof 2016-02-24 --previous twice.csv
predict-same: predict --model dfl.sharpen --prices market.csv --asof 2016-02-24 --out w.csv --trades ./w.csv
predict-over: predict --model dfl.sharpen --prices market.csv --asof 2016-02-24 --out dfl.sharpen

study-nothing: study
study-preset: study --preset papper
study-preset-market: study --preset paper
study-missing: study none.toml
study-framework: study --prices small.csv --frameworks role --out o
study-optimizer: study --prices small.csv --optimizers swop --out o
study-training: study --prices small.csv --trainings old --out o
study-signal: study --prices small.csv --frameworks signal --out o
study-seeds: study --prices small.csv --seeds 3,3 --out o
study-seeds-text: study --prices small.csv --seeds many --out o
study-alphas: study --prices small.csv --alphas 2 --out o
study-costs: study --prices small.csv --costs -1 --out o
study-k: study --prices small.csv -k 40 --frameworks rolling --out o
study-k-twice: study --prices small.csv -k 3,50% --frameworks historic --lookback 20 --out o
study-twins: study --prices small.csv,small.csv --frameworks historic --out o
study-available: study study.toml --universe available --out o
study-methods-and-lists: study study.toml --frameworks pfl --out o
study-preset-and-methods: study study.toml --preset paper --out o
study-list-nothing: study --list --out none
study-list-other: study --list --out run-a
study-method-key: study method_key.toml --out o
study-method-value: study method_value.toml --out o
study-method-clash: study method_clash.toml --out o
study-method-twice: study method_twice.toml --out o
study-method-signal: study method_signal.toml --out o
study-market-key: study market_key.toml --out o
study-market-both: study market_both.toml --out o
study-market-none: study market_none.toml --out o
study-simulate-key: study simulate_key.toml --out o
study-soft-nothing: study --prices small.csv --frameworks historic --optimizers sdr --decision soft --out o
study-retrain-nothing: study --prices small.csv --frameworks historic --retrain 5 --out o
study-net: study --prices small.csv --frameworks rolling --net any --sizing budget --out o
study-history: study --prices small.csv --frameworks dfl --min-history 5 --out o
study-memory: study --prices small.csv --max-memory 0 --out o
study-out-file: study --prices small.csv --frameworks rolling --out small.csv
study-changed: study changed.toml --out failed

report-nothing: report
report-missing: report none
report-folder: report run-a
report-text-file: report small.csv
report-table: report study --table sharp
report-table-html: report study --table sharpe --format html
report-format: report study --format pdf
report-ending: report study --out r.pdf
report-over: report study --out small.csv
report-over-study: report study --out study/study.db --force
report-cut: report cut.db
report-altered: report text.db
report-damaged: report damaged.db
report-orphan: report orphan.db
report-columns: report columns.db
report-future: report no_table.db
"""
