/* One instance of a machine: its variables, its steps, its saved states. See instance.h. */

#include "instance.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAME_TIME (1e-6 * MODEL_STEP) /* s: communication points that are as close are one */
#define MOST_STEPS 1e8 /* of the machine in a communication step: some minutes to hours */
#define LAST_TIME (1e-3 * MODEL_STEP / DBL_EPSILON) /* s: later, times round a step by a thousandth */

static const char *const category_of[] = {"logStatusWarning", "logStatusWarning",
                                          "logStatusDiscard", "logStatusError"};

int instance_matches(const char *token)
{
    return token != NULL && strcmp(token, MODEL_TOKEN) == 0;
}

/* Tells the importer what is wrong; returns the status. Nothing is allocated. */
int instance_fail(struct instance *self, int status, const char *format, ...)
{
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (self->log != NULL) {
        self->log(self, status, category_of[status], message);
    }
    return status;
}

struct instance *instance_new(const char *name, log_function *log, void *environment,
                              void (*importer_log)(void), int logging)
{
    struct instance *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return NULL;
    }
    self->log = log;
    self->environment = environment;
    self->importer_log = importer_log;
    self->logging = logging;
    snprintf(self->name, sizeof self->name, "%s", name == NULL ? MODEL_NAME : name);
    instance_reset(self);
    return self;
}

void instance_free(struct instance *self)
{
    free(self);
}

int instance_reset(struct instance *self)
{
    memset(&self->now, 0, sizeof self->now);
    memcpy(self->now.value, model_start_values, sizeof self->now.value);
    memcpy(self->now.hidden, model_hidden_start, sizeof self->now.hidden);
    self->now.stop = INFINITY;
    self->now.phase = INSTANTIATED;
    self->last_time = 0.0;
    return STATUS_OK;
}

static int expect(struct instance *self, enum phase phase, const char *call)
{
    static const char *const names[] = {"instantiated", "initialization", "step", "terminated"};
    if (self->now.phase == (int)phase) {
        return STATUS_OK;
    }
    return instance_fail(self, STATUS_ERROR, "%s is called in the %s mode; it belongs to the %s mode",
                         call, names[self->now.phase], names[phase]);
}

#if MODEL_UNKNOWNS > 0
/* The memory of steps that begin here. `keep`: after a jump of forces between two steps the algorithmic
   accelerations a keep their distance from the accelerations, and the factors of Newton's matrix stay. */
static void renew(struct instance *self, int keep)
{
    struct contents *now = &self->now;
    double *memory = self->next;
    int k;
    model_memory(now->value, now->hidden, memory);
    for (k = 0; keep && k < MODEL_UNKNOWNS; k++) {
        memory[k] += now->hidden[k] - now->hidden[MODEL_ACCELERATION + k];
    }
    if (MODEL_BASIS)  /* of any position near enough */
        keep = 1;
    memcpy(now->hidden, memory, (keep ? MODEL_HIDDEN - MODEL_FACTORS : MODEL_HIDDEN) * sizeof *memory);
}

/* The memory for steps that are longer by a ratio: a's distance is proportional to it. */
static void stretch(struct instance *self, double ratio)
{
    double *a = self->now.hidden;
    int k;
    for (k = 0; MODEL_ACCELERATION > 0 && k < MODEL_UNKNOWNS; k++) {
        a[k] = a[MODEL_ACCELERATION + k] + ratio * (a[k] - a[MODEL_ACCELERATION + k]);
    }
}

/* Whether forces jump at a time. */
static int jumps_at(double time)
{
    int k;
    for (k = 0; k < MODEL_KNOTS; k++) {
        if (fabs(model_knots[k] - time) <= SAME_TIME) {
            return 1;
        }
    }
    return 0;
}
#endif

int instance_setup(struct instance *self, double start, int has_stop, double stop)
{
    if (expect(self, INSTANTIATED, "the set-up of the experiment") != STATUS_OK) {
        return STATUS_ERROR;
    }
    if (!(fabs(start) <= LAST_TIME) || (has_stop && !(stop >= start))) {
        return instance_fail(self, STATUS_ERROR,
                             "the experiment cannot go from %g s to %g s; with steps of %g s it "
                             "begins at %g s at the latest",
                             start, stop, MODEL_STEP, LAST_TIME);
    }
    self->now.value[0] = start;
    self->last_time = start;
    self->now.stop = has_stop ? stop : INFINITY;
    return STATUS_OK;
}

int instance_enter_initialization(struct instance *self)
{
    if (expect(self, INSTANTIATED, "EnterInitializationMode") != STATUS_OK) {
        return STATUS_ERROR;
    }
    self->now.phase = INITIALIZING;
    return STATUS_OK;
}

/* Ends initialization if the start closes the loops and follows the prescribed motions. */
int instance_exit_initialization(struct instance *self)
{
    int k;
    if (expect(self, INITIALIZING, "ExitInitializationMode") != STATUS_OK) {
        return STATUS_ERROR;
    }
    model_residuals(self->now.value, self->now.hidden, self->scratch);
    for (k = 0; k < MODEL_RESIDUALS; k++) {
        if (!(fabs(self->scratch[k]) <= MODEL_CLOSED)) {
            return instance_fail(self, STATUS_ERROR,
                                 "the start values do not satisfy %s: it is off by %g relative to "
                                 "the machine's size; set the start values of all q and v to a "
                                 "consistent state",
                                 model_residual_names[k], self->scratch[k]);
        }
    }
#if MODEL_UNKNOWNS > 0
    renew(self, 0);
    self->now.changed = 0;
#endif
    self->now.phase = STEPPING;
    return STATUS_OK;
}

int instance_terminate(struct instance *self)
{
    if (expect(self, STEPPING, "Terminate") != STATUS_OK) {
        return STATUS_ERROR;
    }
    self->now.phase = TERMINATED;
    return STATUS_OK;
}

int instance_get(struct instance *self, const uint32_t *references, size_t number, double *values)
{
    struct contents *now = &self->now;
    size_t k;
    for (k = 0; k < number; k++) {
        const uint32_t reference = references[k];
        if (reference >= MODEL_VALUES) {
            return instance_fail(self, STATUS_ERROR, "there is no variable with the reference %lu",
                                 (unsigned long)reference);
        }
        if (reference >= MODEL_FIRST_OUTPUT && !now->outputs_known) {
            model_outputs(now->value, now->hidden, now->value + MODEL_FIRST_OUTPUT);
            now->outputs_known = 1;
        }
        values[k] = now->value[reference];
    }
    return STATUS_OK;
}

/* Sets all values or, if one of them cannot be set now, none. */
int instance_set(struct instance *self, const uint32_t *references, size_t number,
                 const double *values)
{
    const int starting = self->now.phase == INSTANTIATED || self->now.phase == INITIALIZING;
    size_t k;
    for (k = 0; k < number; k++) {
        const uint32_t reference = references[k];
        if (reference >= MODEL_VALUES) {
            return instance_fail(self, STATUS_ERROR, "there is no variable with the reference %lu",
                                 (unsigned long)reference);
        }
        if (model_kinds[reference] == MODEL_COMPUTED) {
            return instance_fail(self, STATUS_ERROR, "%s is computed and cannot be set",
                                 model_names[reference]);
        }
        if (model_kinds[reference] == MODEL_START && !starting) {
            return instance_fail(self, STATUS_ERROR, "%s can be set before the first step only",
                                 model_names[reference]);
        }
        if (!isfinite(values[k])) {
            return instance_fail(self, STATUS_DISCARD, "%s: expected a finite number, got %g",
                                 model_names[reference], values[k]);
        }
    }
    for (k = 0; k < number; k++) {
        self->now.changed |= self->now.value[references[k]] != values[k];
        self->now.value[references[k]] = values[k];
    }
    self->now.outputs_known = 0;
    return STATUS_OK;
}

#if MODEL_WATCHED > 0
/* The first of the watched states among the states that a step writes. */
#define WATCHED (MODEL_STATES - MODEL_WATCHED)

/* Half a step of the probe; returns whether it was taken. */
static int half_step(struct instance *self, double half)
{
    struct contents *probe = &self->probe;
    double *state = probe->value + MODEL_FIRST_STATE;
    if (!(model_step(probe->value, probe->hidden, half, self->next, self->scratch) < MODEL_RISK)) {
        return 0;
    }
    memcpy(state, self->next, MODEL_STATES * sizeof *state);
    memcpy(probe->hidden, self->next + MODEL_STATES, MODEL_HIDDEN * sizeof *state);
    probe->value[0] += half;
    return 1;
}

/* Whether a state of a force element, which moves nothing maybe, leaves its course for good: twice
   one after the other the step that was taken to `next` differs from two of half its length. */
static int strays(struct instance *self, double length)
{
    struct contents *now = &self->now;
    double whole[MODEL_WATCHED];
    const double *before = now->value + MODEL_FIRST_STATE + WATCHED;
    int k;
    memcpy(whole, self->next + WATCHED, sizeof whole);
    self->probe = *now;
    if (!half_step(self, 0.5 * length) || !half_step(self, 0.5 * length)) {
        return 0;
    }
    for (k = 0; k < MODEL_WATCHED; k++) {
        const double apart = fabs(whole[k] - self->next[WATCHED + k]);
        int wrong;
        if (fabs(before[k]) > now->largest[k]) {
            now->largest[k] = fabs(before[k]);
        }
        wrong = !(apart <= MODEL_STATE_ERROR * now->largest[k] + MODEL_LEAST_STATE);
        if (wrong && now->astray[k]) {
            self->stray = k;
        }
        now->astray[k] = (unsigned char)wrong;
    }
    return self->stray >= 0;
}
#endif

/* One step of the machine; returns whether it was taken. */
static int advance(struct instance *self, double length, double *risk)
{
    struct contents *now = &self->now;
    double *state = now->value + MODEL_FIRST_STATE;
    int k;
    *risk = model_step(now->value, now->hidden, length, self->next, self->scratch);
    if (!(*risk < MODEL_RISK)) {
        return 0;
    }
    for (k = 0; k < MODEL_STATES + MODEL_HIDDEN; k++) {
        if (!isfinite(self->next[k])) {
            return 0;
        }
    }
#if MODEL_WATCHED > 0
    if (++now->steps == MODEL_LOOK) {
        double next[MODEL_STATES + MODEL_HIDDEN];
        now->steps = 0;
        memcpy(next, self->next, sizeof next);
        if (strays(self, length)) {
            return 0;
        }
        memcpy(self->next, next, sizeof next);
    }
#endif
    memcpy(state, self->next, MODEL_STATES * sizeof *state);
    memcpy(now->hidden, self->next + MODEL_STATES, MODEL_HIDDEN * sizeof *state);
    now->value[0] += length;
    return 1;
}

#if MODEL_UNKNOWNS > 0
/* One step; if its iterations do not converge, in halves, quarters and so on. */
static int step_or_parts(struct instance *self, double length, double *risk)
{
    struct contents *now = &self->now;
    const double *a = self->probe.hidden, *acceleration = a + MODEL_ACCELERATION;
    const double start = now->value[0], whole = (start + length) - start;
    int parts, k;
    if (advance(self, length, risk)) {
        return 1;
    }
    self->probe = *now;
    for (parts = 2; parts <= MODEL_PARTS; parts *= 2) {
        *now = self->probe;
        stretch(self, whole / (parts * length));
        for (k = 0; k < parts && advance(self, whole / parts, risk); k++) {
            now->value[0] = start + (k + 1) * (whole / parts);
        }
        if (k == parts) {
            now->value[0] = start + length;
            for (k = 0; k < MODEL_UNKNOWNS; k++) {
                now->hidden[k] = now->hidden[MODEL_ACCELERATION + k] + (a[k] - acceleration[k]);
            }
            return 1;
        }
    }
    *now = self->probe;
    return 0;
}
#else
#define step_or_parts advance
#endif

/* The first time at which a table of forces jumps or bends between two times, or the second one. */
static double next_knot(double from, double to)
{
    int k;
    for (k = 0; k < MODEL_KNOTS; k++) {
        if (model_knots[k] > from && model_knots[k] < to) {
            return model_knots[k];
        }
    }
    return to;
}

/* The longest step from a time for which the sum of both, rounded, is not beyond the other. */
static double length_to(double from, double to)
{
    double length = to - from;
    while (from + length > to) {
        length = nextafter(length, -INFINITY);
    }
    return length;
}

/* One step, in parts that end where tables of forces jump or bend. */
static int advance_over_knots(struct instance *self, double length, double *risk)
{
    double *time = self->now.value;
    const double end = *time + length;
    double knot = next_knot(*time, end);
#if MODEL_UNKNOWNS > 0
    if (jumps_at(*time)) {
        renew(self, 0);
    }
#endif
    if (knot >= end) {
        return step_or_parts(self, length, risk);
    }
    while (step_or_parts(self, length_to(*time, knot), risk)) {
        *time = knot;
        if (knot >= end) {
            return 1;
        }
#if MODEL_UNKNOWNS > 0
        renew(self, 0);
#endif
        knot = next_knot(*time, end);
    }
    return 0;
}

/* Steps of MODEL_STEP over a communication step, and a shorter one for what is left. */
int instance_step(struct instance *self, double from, double length)
{
    struct contents *now = &self->now;
    double risk = 0.0, rest, count, k;
    if (expect(self, STEPPING, "DoStep") != STATUS_OK) {
        return STATUS_ERROR;
    }
    if (!isfinite(length) || length < 0.0) {
        return instance_fail(self, STATUS_ERROR, "a step of %g s is none", length);
    }
    if (!(fabs(from - now->value[0]) <= 0.5 * MODEL_STEP)) {
        return instance_fail(self, STATUS_ERROR,
                             "the communication point is %.17g s, but the last step ended at "
                             "%.17g s",
                             from, now->value[0]);
    }
    if (from + length > now->stop + SAME_TIME) {
        return instance_fail(self, STATUS_ERROR, "a step of %g s from %g s goes beyond the stop time",
                             length, from);
    }
    if (!(length <= MOST_STEPS * MODEL_STEP)) {
        return instance_fail(self, STATUS_ERROR,
                             "a communication step of %g s has more than %g steps of %g s; ask for "
                             "several shorter ones",
                             length, MOST_STEPS, MODEL_STEP);
    }
    if (!(fabs(from + length) <= LAST_TIME)) {
        return instance_fail(self, STATUS_ERROR,
                             "at t = %g s times are rounded too much for steps of %g s; expected "
                             "at most %g s",
                             from + length, MODEL_STEP, LAST_TIME);
    }
    self->before = *now;
    self->stray = -1;
    if (fabs(from - now->value[0]) > SAME_TIME) {
        now->value[0] = from;
    }
    count = floor(length / MODEL_STEP + 1e-6);
    rest = length - count * MODEL_STEP;
    now->outputs_known = 0;
#if MODEL_UNKNOWNS > 0
    if (now->changed) {
        renew(self, 1);
    }
#endif
    now->changed = 0;
    for (k = 0.0; k < count; k += 1.0) {
        if (!advance_over_knots(self, MODEL_STEP, &risk)) {
            break;
        }
    }
#if MODEL_UNKNOWNS > 0
    if (k >= count && rest > SAME_TIME) {
        stretch(self, rest / MODEL_STEP);
    }
#endif
    if (k >= count && (rest <= SAME_TIME || advance_over_knots(self, rest, &risk))) {
#if MODEL_UNKNOWNS > 0
        if (rest > SAME_TIME) {
            stretch(self, MODEL_STEP / rest);
        }
#endif
        self->last_time = from + length;
        return STATUS_OK;
    }
    {
        const double failed = now->value[0];
        *now = self->before;
        self->last_time = from;
        if (self->stray >= 0) {
            return instance_fail(self, STATUS_DISCARD,
                                 "steps of %g s are too long for the state %s of a force element, "
                                 "whose time constant is shorter, by t = %.9g s; export with a "
                                 "shorter step",
                                 MODEL_STEP,
                                 model_names[MODEL_FIRST_STATE + MODEL_STATES - MODEL_WATCHED +
                                             self->stray],
                                 failed);
        }
        return instance_fail(self, STATUS_DISCARD,
                             "the step from t = %.9g s is not taken (risk %.3g, limit %.3g): the "
                             "machine is near a singular position, or it moves too fast, or its "
                             "forces are not smooth enough, for steps of %g s",
                             failed, risk, MODEL_RISK, MODEL_STEP);
    }
}

int instance_save(struct instance *self, void **saved)
{
    if (*saved == NULL) {
        *saved = malloc(sizeof(struct contents));
    }
    if (*saved == NULL) {
        return instance_fail(self, STATUS_ERROR, "no memory for a saved state");
    }
    memcpy(*saved, &self->now, sizeof(struct contents));
    return STATUS_OK;
}

int instance_restore(struct instance *self, const void *saved)
{
    if (saved == NULL) {
        return instance_fail(self, STATUS_ERROR, "there is no saved state");
    }
    memcpy(&self->now, saved, sizeof(struct contents));
    self->last_time = self->now.value[0];
    return STATUS_OK;
}

void instance_free_saved(void **saved)
{
    if (saved != NULL) {
        free(*saved);
        *saved = NULL;
    }
}

/* A serialized state: the token of the model, a check sum of the contents, then the contents as they
   are in memory. */
#define CONTENTS (sizeof MODEL_TOKEN + sizeof(uint64_t))

size_t instance_serialized_size(void)
{
    return CONTENTS + sizeof(struct contents);
}

/* FNV-1a with 64 bits: any change of a single byte changes it. */
static uint64_t check_sum(const void *contents)
{
    const unsigned char *bytes = contents;
    uint64_t sum = UINT64_C(14695981039346656037);
    size_t k;
    for (k = 0; k < sizeof(struct contents); k++) {
        sum = (sum ^ bytes[k]) * UINT64_C(1099511628211);
    }
    return sum;
}

int instance_serialize(struct instance *self, const void *saved, char *bytes, size_t size)
{
    uint64_t sum;
    if (saved == NULL || bytes == NULL || size < instance_serialized_size()) {
        return instance_fail(self, STATUS_ERROR, "a serialized state has %lu bytes, %lu are given",
                             (unsigned long)instance_serialized_size(), (unsigned long)size);
    }
    sum = check_sum(saved);
    memcpy(bytes, MODEL_TOKEN, sizeof MODEL_TOKEN);
    memcpy(bytes + sizeof MODEL_TOKEN, &sum, sizeof sum);
    memcpy(bytes + CONTENTS, saved, sizeof(struct contents));
    return STATUS_OK;
}

/* Whether contents are such as an instance can have; a check sum can be forged. */
static int possible(const struct contents *contents)
{
    return contents->phase >= INSTANTIATED && contents->phase <= TERMINATED &&
           fabs(contents->value[0]) <= LAST_TIME && contents->steps >= 0 &&
           contents->steps < MODEL_LOOK;
}

int instance_deserialize(struct instance *self, const char *bytes, size_t size, void **saved)
{
    uint64_t sum;
    struct contents *contents = &self->probe;
    if (bytes == NULL || size != instance_serialized_size() ||
        memcmp(bytes, MODEL_TOKEN, sizeof MODEL_TOKEN) != 0) {
        return instance_fail(self, STATUS_ERROR, "this is no saved state of this machine");
    }
    memcpy(&sum, bytes + sizeof MODEL_TOKEN, sizeof sum);
    memcpy(contents, bytes + CONTENTS, sizeof *contents);
    if (sum != check_sum(contents) || !possible(contents)) {
        return instance_fail(self, STATUS_ERROR, "the saved state is damaged; save it anew");
    }
    if (*saved == NULL) {
        *saved = malloc(sizeof(struct contents));
    }
    if (*saved == NULL) {
        return instance_fail(self, STATUS_ERROR, "no memory for a saved state");
    }
    memcpy(*saved, contents, sizeof *contents);
    return STATUS_OK;
}
