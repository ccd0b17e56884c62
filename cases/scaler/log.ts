/** What the scaler has done to a simulated world, as that saw it: a function that dies tells nothing. */
export class ScalerLog {
  readonly uncordoned: string[] = [];
  readonly cordoned: string[] = [];
  readonly gameServersDeleted: string[] = [];
  readonly nodesDeleted: string[] = [];
  /** Instance ids; names of nodes where the provider knows those. */
  readonly instancesDeleted: string[] = [];
  increaseBy = 0;
  /** Every change of cluster or provider that was asked for and took place, marks included. */
  changes = 0;
  /** What must never happen, and did (I1 to I5, I7 and I10 of the scaler's invariants). */
  readonly violations: string[] = [];

  /** A problem unless `holds`. */
  must(holds: boolean, violation: string): void {
    if (!holds) this.violations.push(violation);
  }
}
