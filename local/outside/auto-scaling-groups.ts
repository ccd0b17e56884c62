import type { Agenda } from './agenda.ts';
import {
  type Activity,
  type GroupSettings,
  type Instance,
  isLeaving,
  liveOf,
  type ScalingGroup,
  scalingGroupOf,
  victimOf,
  zonesOf,
} from './scaling-group.ts';
import { ServiceError } from './service-error.ts';

/** Seconds until a launch that failed is tried again. */
const RELAUNCH_SECONDS = 60;

/** Seconds that zones must have been out of balance for AZRebalance to act. */
const REBALANCE_SECONDS = 60;

/** Why an instance is ended: asked for by id, by the group's policy after desired was lowered, or by no request at all. */
export type EndCause = 'by id' | 'by lowered desired capacity' | 'by AZRebalance' | 'as unhealthy';

export interface GroupsListener {
  launched?(group: ScalingGroup, instance: Instance): void;
  terminating?(group: ScalingGroup, instance: Instance, cause: EndCause): void;
  /** A request has raised the desired capacity. */
  raised?(group: ScalingGroup): void;
}

/** The Auto Scaling groups of one region, and the service's rules of changing them. Instances move on by Machines. */
export class AutoScalingGroups {
  readonly #agenda: Agenda;
  readonly #groups = new Map<string, ScalingGroup>();
  readonly #listeners: GroupsListener[] = [];
  #ids = 0;

  constructor(agenda: Agenda) {
    this.#agenda = agenda;
  }

  listen(listener: GroupsListener): void {
    this.#listeners.push(listener);
  }

  /** Instances that are Pending from the start go on as if they were launched now; missing ones are launched. */
  add(settings: GroupSettings): ScalingGroup {
    if (this.#groups.has(settings.name)) throw new Error(`there is a group ${settings.name} already`);
    const group = scalingGroupOf(settings, this.#agenda.now());
    this.#groups.set(group.name, group);
    for (const instance of group.instances.values()) {
      if (instance.state === 'Pending') this.#tellLaunched(group, instance);
    }
    this.converge(group);
    return group;
  }

  get(name: string): ScalingGroup | undefined {
    return this.#groups.get(name);
  }

  list(): ScalingGroup[] {
    return [...this.#groups.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  find(id: string): { readonly group: ScalingGroup; readonly instance: Instance } | undefined {
    for (const group of this.#groups.values()) {
      const instance = group.instances.get(id);
      if (instance !== undefined) return { group, instance };
    }
    return undefined;
  }

  /** SetDesiredCapacity. Lowering lets the group choose whom it ends. */
  setDesiredCapacity(name: string, desired: number, honorCooldown = false): void {
    const group = this.#groups.get(name);
    if (group === undefined) {
      throw new ServiceError('ValidationError', `AutoScalingGroup name not found - no such group: ${name}`);
    }
    const value = `New SetDesiredCapacity value ${desired} is`;
    if (desired > group.max) {
      throw new ServiceError('ValidationError', `${value} above max value ${group.max} for the AutoScalingGroup.`);
    }
    if (desired < group.min) {
      throw new ServiceError('ValidationError', `${value} below min value ${group.min} for the AutoScalingGroup.`);
    }
    if (honorCooldown && group.activities.some(({ status }) => status === 'InProgress')) throw inProgress(name);
    const before = group.desired;
    group.desired = desired;
    if (desired > before) for (const listener of this.#listeners) listener.raised?.(group);
    if (desired < before) this.#shed(group);
    this.converge(group);
  }

  /** TerminateInstanceInAutoScalingGroup. */
  terminate(id: string, decrement: boolean): Activity {
    const found = this.find(id);
    if (found === undefined) {
      const message = `Instance Id not found - No managed instance found for instance ID ${id}`;
      throw new ServiceError('ValidationError', message);
    }
    const { group, instance } = found;
    if (group.busy) throw inProgress(group.name);
    if (instance.state.startsWith('Warmed:')) {
      throw new ServiceError('ValidationError', `The instance ${id} is in the warm pool of the group ${group.name}.`);
    }
    if (group.suspended.has('Terminate')) {
      throw new ServiceError('ValidationError', `The process Terminate is suspended for the group ${group.name}.`);
    }
    if (decrement && group.desired - 1 < group.min) throw atMinimum(group);
    if (decrement) group.desired -= 1;
    // What the service makes of an instance that is ended again is not documented; reports have desired sink each time
    // (kubernetes/autoscaler#4095), which then costs another instance.
    if (!isLeaving(instance)) this.#end(group, instance, 'by id');
    else if (decrement) this.#shed(group);
    this.converge(group);
    return this.#latest(group, id);
  }

  /** An instance that has been found dead is ended, and another takes its place. */
  replaceUnhealthy(id: string): void {
    const found = this.find(id);
    if (found === undefined || isLeaving(found.instance)) return;
    found.instance.healthy = false;
    if (found.group.suspended.has('ReplaceUnhealthy')) return;
    this.#end(found.group, found.instance, 'as unhealthy');
    this.converge(found.group);
  }

  /** An instance comes into service. */
  enterService(id: string): void {
    const found = this.find(id);
    if (found === undefined || found.instance.state !== 'Pending') return;
    found.instance.state = 'InService';
    this.#finish(found.group, id);
  }

  /** An instance that has ended leaves the group. */
  remove(id: string): void {
    const found = this.find(id);
    if (found === undefined) return;
    this.#finish(found.group, id);
    found.group.instances.delete(id);
  }

  /** Launches what is missing, and sets right what is out of balance, as time goes on. To be called when settings of a group have changed. */
  converge(group: ScalingGroup): void {
    this.#agenda.after(0, () => this.#launchMissing(group));
    this.#agenda.after(REBALANCE_SECONDS, () => this.#rebalance(group));
  }

  #launchMissing(group: ScalingGroup): void {
    if (group.suspended.has('Launch')) return;
    for (let missing = group.desired - liveOf(group).length; missing > 0; missing -= 1) {
      if (group.shortage !== undefined) {
        this.#fail(group, group.shortage);
        return;
      }
      this.#launch(group);
    }
  }

  #launch(group: ScalingGroup): void {
    this.#ids += 1;
    const instance: Instance = {
      id: `i-${this.#ids.toString(16).padStart(17, '0')}`,
      zone: zonesOf(group)[0]?.zone ?? group.zones[0],
      state: 'Pending',
      healthy: true,
      protectedFromScaleIn: group.newInstancesProtected,
      launchedAt: this.#agenda.now(),
    };
    group.instances.set(instance.id, instance);
    const description = `Launching a new EC2 instance: ${instance.id}`;
    this.#note(group, { instance: instance.id, description, status: 'InProgress' });
    this.#tellLaunched(group, instance);
  }

  #tellLaunched(group: ScalingGroup, instance: Instance): void {
    for (const listener of this.#listeners) listener.launched?.(group, instance);
  }

  #fail(group: ScalingGroup, message: string): void {
    const waiting = group.activities[0];
    const now = this.#agenda.now();
    // Several reasons to look at a group at once are one try.
    if (waiting?.status === 'Failed' && now - waiting.startedAt < RELAUNCH_SECONDS * 1000) return;
    const activity = this.#note(group, { description: 'Launching a new EC2 instance', status: 'Failed' });
    activity.message = message;
    activity.endedAt = now;
    this.#agenda.after(RELAUNCH_SECONDS, () => this.#launchMissing(group));
  }

  /** Ends those that are too many. */
  #shed(group: ScalingGroup): void {
    if (group.suspended.has('Terminate')) return;
    for (let excess = liveOf(group).length - group.desired; excess > 0; excess -= 1) {
      const victim = victimOf(group);
      if (victim === undefined) {
        const description =
          'Could not scale to desired capacity because all remaining instances are protected from scale-in.';
        this.#note(group, { description, status: 'Cancelled' });
        return;
      }
      this.#end(group, victim, 'by lowered desired capacity');
    }
  }

  #rebalance(group: ScalingGroup): void {
    if (!group.rebalances || group.suspended.has('AZRebalance') || group.shortage !== undefined) return;
    const zones = zonesOf(group);
    const fullest = zones.at(-1);
    if (fullest === undefined || fullest.live - (zones[0]?.live ?? 0) < 2) return;
    const victim = liveOf(group).find(
      ({ zone, protectedFromScaleIn }) => zone === fullest.zone && !protectedFromScaleIn,
    );
    if (victim === undefined) return;
    this.#launch(group);
    this.#end(group, victim, 'by AZRebalance');
    this.#agenda.after(REBALANCE_SECONDS, () => this.#rebalance(group));
  }

  #end(group: ScalingGroup, instance: Instance, cause: EndCause): void {
    this.#finish(group, instance.id);
    instance.state = 'Terminating';
    const description = `Terminating EC2 instance: ${instance.id}`;
    this.#note(group, { instance: instance.id, description, status: 'InProgress' });
    for (const listener of this.#listeners) listener.terminating?.(group, instance, cause);
  }

  #note(
    group: ScalingGroup,
    { instance, description, status }: Pick<Activity, 'description' | 'status'> & { readonly instance?: string },
  ): Activity {
    this.#ids += 1;
    const startedAt = this.#agenda.now();
    const activity: Activity = {
      id: `activity-${this.#ids}`,
      group: group.name,
      ...(instance === undefined ? {} : { instance }),
      description,
      cause: `At ${new Date(startedAt).toISOString()} the desired capacity of the group was ${group.desired}.`,
      startedAt,
      status,
    };
    group.activities.unshift(activity);
    return activity;
  }

  #latest(group: ScalingGroup, instance: string): Activity {
    const known = group.activities.find((activity) => activity.instance === instance);
    const description = `Terminating EC2 instance: ${instance}`;
    return known ?? this.#note(group, { instance, description, status: 'InProgress' });
  }

  /** Whatever was under way with an instance has come to its end. */
  #finish(group: ScalingGroup, instance: string): void {
    for (const activity of group.activities) {
      if (activity.instance !== instance || activity.status !== 'InProgress') continue;
      activity.status = 'Successful';
      activity.endedAt = this.#agenda.now();
    }
  }
}

function inProgress(group: string): ServiceError {
  return new ServiceError('ScalingActivityInProgress', `Scaling activity is in progress for the group ${group}.`);
}

function atMinimum({ min }: ScalingGroup): ServiceError {
  const message =
    `Currently, desiredSize equals minSize (${min}). Terminating instance without replacement will violate group's min ` +
    "size constraint. Either set shouldDecrementDesiredCapacity flag to false or lower group's min size.";
  return new ServiceError('ValidationError', message);
}
