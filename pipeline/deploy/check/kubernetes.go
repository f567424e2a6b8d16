package main

import (
	"fmt"

	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// kinds makes an object of each kind that the manifests may have.
var kinds = map[string]func() any{
	"apps/v1 Deployment":                     func() any { return new(apps.Deployment) },
	"apps/v1 StatefulSet":                    func() any { return new(apps.StatefulSet) },
	"autoscaling/v2 HorizontalPodAutoscaler": func() any { return new(autoscaling.HorizontalPodAutoscaler) },
	"batch/v1 CronJob":                       func() any { return new(batch.CronJob) },
	"batch/v1 Job":                           func() any { return new(batch.Job) },
	"networking.k8s.io/v1 NetworkPolicy":     func() any { return new(networking.NetworkPolicy) },
	"policy/v1 PodDisruptionBudget":          func() any { return new(policy.PodDisruptionBudget) },
	"v1 ConfigMap":                           func() any { return new(core.ConfigMap) },
	"v1 Namespace":                           func() any { return new(core.Namespace) },
	"v1 PersistentVolumeClaim":               func() any { return new(core.PersistentVolumeClaim) },
	"v1 Secret":                              func() any { return new(core.Secret) },
	"v1 Service":                             func() any { return new(core.Service) },
}

// kubernetes builds a kustomization and decodes each of its objects into the Go type of its kind.
func kubernetes(path string) ([]any, error) {
	// `kubectl apply -k` refuses files above the kustomization too.
	options := krusty.MakeDefaultOptions()
	options.LoadRestrictions = types.LoadRestrictionsRootOnly
	resources, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), path)
	if err != nil {
		return nil, err
	}
	var objects []any
	for _, resource := range resources.Resources() {
		text, err := resource.AsYAML()
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("%s %s", resource.GetApiVersion(), resource.GetKind())
		if name == "k6.io/v1alpha1 TestRun" {
			object, err := testRun(text)
			if err != nil {
				return nil, fmt.Errorf("TestRun %s: %w", resource.GetName(), err)
			}
			objects = append(objects, object)
			continue
		}
		kind, known := kinds[name]
		if !known {
			return nil, fmt.Errorf("%s: a %s, which is not in kubernetes.go", resource.GetName(), name)
		}
		object := kind()
		if err := yaml.UnmarshalStrict(text, object); err != nil {
			return nil, fmt.Errorf("%s %s: %w", resource.GetKind(), resource.GetName(), err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}
