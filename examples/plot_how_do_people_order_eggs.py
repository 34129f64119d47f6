"""On which scale do people compare what they see?
===============================================

An experimenter made eggs from smooth to spiky, 300 settings of one knob, and asked: which of these two looks more like the
first? Answers to such triplets do not measure a difference; they only name the smaller of two. From them we learn the scale on
which the observer compares. It shows where a turn of the knob is seen at once, and where it goes unnoticed. The observer here
is simulated, so that the true scale can be drawn beside the learned one. It is a logarithm, with a border between "smooth" and
"spiky" at 0.7, across which everything looks different.
"""

import matplotlib.pyplot as plt
import numpy as np

from semimetric import TripletLearner
from semimetric.datasets import make_triplet_answers, perceived

# Answers of a noisy observer; every fifth is held out for the test.
made = make_triplet_answers(8000, n_items=300, random_state=0)
test = np.arange(len(made.triplets)) % 5 == 0
model = TripletLearner(preprocessor=made.items).fit(made.triplets[~test])
d = model.semimetric_
print(d)

# Count the orders that agree with the answers. Any Mahalanobis distance of one feature is its plain difference.
heads, chosen, others = made.items[made.triplets[test], 0].T
plain = np.mean(np.abs(heads - chosen) < np.abs(heads - others))
truth = np.mean(np.abs(perceived(heads) - perceived(chosen)) < np.abs(perceived(heads) - perceived(others)))
learned = model.score(made.triplets[test])
print(f"answers foretold: plain difference {plain:.3f}, learned {learned:.3f}, the true scale {truth:.3f}")

# The learned distance is L1 on a warped scale; `transform` gives the scale.
knob = np.linspace(made.items.min(), made.items.max(), 400)
scale = model.transform(knob[:, None])[:, 0]
scale = (scale - scale[0]) / (scale[-1] - scale[0])

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained", width_ratios=(3, 2))
left.plot(knob, knob, color="#b5b5b5", linestyle="--", label="plain difference")
left.plot(knob, perceived(knob), color="#d9622b", label="true scale of the observer")
left.plot(knob, scale, color="#1f5f8b", linewidth=2, label="learned from answers")
left.set(xlabel="setting of the knob", ylabel="where it is seen, from 0 to 1", title="The border at 0.7 was found")
left.legend(frameon=False)
names, shares = ("plain difference", "learned", "true scale"), (plain, learned, truth)
bars = right.barh(names, shares, color=("#b5b5b5", "#1f5f8b", "#d9622b"))
right.bar_label(bars, labels=[f" {100 * share:.1f} %" for share in shares])
right.set(xlim=(0.5, 1.0), xlabel="share of unseen answers foretold", title="No distance foretells the noise")
right.invert_yaxis()
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
figure.suptitle("On which scale do people compare what they see?")
plt.show()
