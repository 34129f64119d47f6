"""Does an interval hold for a new patient?
========================================

Twenty patients were measured ten times each. Two columns say something of the value, and each patient has a level of his own,
which no column names. Visits of one patient say much of one another: a model that leaves out a visit still knows the patient.
So its errors look small, and intervals made of them miss most visits of new patients. With ``groups=`` all visits of a patient
are left out together.

Each line is the interval of 90 % of a visit of a new patient, gray where it holds the value, and red where it does not.
"""

import matplotlib.pyplot as plt
import numpy as np

from semimetric import SemimetricRegressor

rng = np.random.default_rng(0)
n_patients, n_visits = 35, 10
patient = np.repeat(np.arange(n_patients), n_visits)
age_and_weight = rng.normal(size=(n_patients, 2))[patient] + 0.1 * rng.normal(size=(len(patient), 2))
level = rng.normal(size=n_patients)[patient]
value = age_and_weight[:, 0] + level + 0.2 * rng.normal(size=len(patient))

known = patient < 20
X, y, X_new, y_new = age_and_weight[known], value[known], age_and_weight[~known], value[~known]
by_visit = SemimetricRegressor().fit(X, y)
by_patient = SemimetricRegressor().fit(X, y, groups=patient[known])

figure, axes = plt.subplots(2, 1, figsize=(10, 6), sharex=True, sharey=True, layout="constrained")
visits = np.arange(len(y_new))
for axis, model, name in zip(axes, (by_visit, by_patient), ("fit(X, y)", "fit(X, y, groups=patient)"), strict=True):
    _, low, high = model.predict(X_new, interval=0.9)
    holds = (low <= y_new) & (y_new <= high)
    print(f"{name:26} intervals of 90 % hold {holds.mean():.0%} of the visits of new patients")
    axis.vlines(visits, low, high, color=np.where(holds, "0.6", "C3"), linewidth=1.5)
    axis.plot(visits, y_new, ".", color="k", markersize=4)
    axis.set(title=f"{name}: {holds.mean():.0%} of the values lie inside", ylabel="value")
axes[1].set_xlabel("visits of 15 new patients, 10 each")
figure.suptitle("Gray holds the value, red does not: does an interval of 90 % hold for a new patient?")
plt.show()
