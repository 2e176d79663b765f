"""What one kube-scheduler cycle does for a pending Pod or PodGroup: below Kueue's quota, on nodes.

Pure like the rest of the engine: `engine.pods.state.model.PodModel` holds nodes, pods, PodGroups and
PodDisruptionBudgets, `engine.pods.predict` answers from it. Pods are scheduled here, not Workloads: nothing in this
package knows about quota.
"""
