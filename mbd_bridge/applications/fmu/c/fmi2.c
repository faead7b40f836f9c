/* FMI 2.0 for co-simulation, over instance.h. */

#include "fmi2Functions.h"
#include "instance.h"

/* The importer takes a message for the format of printf, so every % in it is doubled. */
static void log_message(struct instance *self, int status, const char *category,
                        const char *message)
{
    fmi2CallbackLogger log = (fmi2CallbackLogger)self->importer_log;
    char text[1024];
    size_t length = 0;
    for (; *message != 0 && length + 3 < sizeof text; message++) {
        if (*message == '%') {
            text[length++] = '%';
        }
        text[length++] = *message;
    }
    text[length] = 0;
    if (log != NULL) {
        log(self->environment, self->name, (fmi2Status)status, category, text);
    }
}

static fmi2Status unsupported(fmi2Component c, const char *function)
{
    return (fmi2Status)instance_fail(c, STATUS_ERROR, "this FMU has no %s", function);
}

/* Getting or setting none of the variables that are not there is no fault. */
static fmi2Status no_variables(fmi2Component c, size_t number, const char *type)
{
    return number == 0 ? fmi2OK : unsupported(c, type);
}

const char *fmi2GetTypesPlatform(void)
{
    return fmi2TypesPlatform;
}

const char *fmi2GetVersion(void)
{
    return fmi2Version;
}

fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean loggingOn, size_t nCategories,
                               const fmi2String categories[])
{
    (void)nCategories;
    (void)categories;
    ((struct instance *)c)->logging = loggingOn;
    return fmi2OK;
}

fmi2Component fmi2Instantiate(fmi2String instanceName, fmi2Type fmuType, fmi2String fmuGUID,
                              fmi2String fmuResourceLocation,
                              const fmi2CallbackFunctions *functions, fmi2Boolean visible,
                              fmi2Boolean loggingOn)
{
    (void)fmuResourceLocation;
    (void)visible;
    if (fmuType != fmi2CoSimulation || !instance_matches(fmuGUID)) {
        if (functions != NULL && functions->logger != NULL) {
            functions->logger(functions->componentEnvironment, instanceName, fmi2Error,
                              "logStatusError", "%s",
                              fmuType != fmi2CoSimulation ? "this FMU is for co-simulation only"
                                                          : "the GUID is not that of this FMU");
        }
        return NULL;
    }
    return instance_new(instanceName, log_message,
                        functions == NULL ? NULL : functions->componentEnvironment,
                        functions == NULL ? NULL : (void (*)(void))functions->logger, loggingOn);
}

void fmi2FreeInstance(fmi2Component c)
{
    instance_free(c);
}

fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean toleranceDefined, fmi2Real tolerance,
                               fmi2Real startTime, fmi2Boolean stopTimeDefined, fmi2Real stopTime)
{
    (void)toleranceDefined;
    (void)tolerance;
    return (fmi2Status)instance_setup(c, startTime, stopTimeDefined, stopTime);
}

fmi2Status fmi2EnterInitializationMode(fmi2Component c)
{
    return (fmi2Status)instance_enter_initialization(c);
}

fmi2Status fmi2ExitInitializationMode(fmi2Component c)
{
    return (fmi2Status)instance_exit_initialization(c);
}

fmi2Status fmi2Terminate(fmi2Component c)
{
    return (fmi2Status)instance_terminate(c);
}

fmi2Status fmi2Reset(fmi2Component c)
{
    return (fmi2Status)instance_reset(c);
}

fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, fmi2Real value[])
{
    return (fmi2Status)instance_get(c, (const uint32_t *)vr, nvr, value);
}

fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                       const fmi2Real value[])
{
    return (fmi2Status)instance_set(c, (const uint32_t *)vr, nvr, value);
}

#define NO_VARIABLES(Type)                                                                         \
    fmi2Status fmi2Get##Type(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,           \
                             fmi2##Type value[])                                                   \
    {                                                                                              \
        (void)vr;                                                                                  \
        (void)value;                                                                               \
        return no_variables(c, nvr, "variables of the type " #Type);                               \
    }                                                                                              \
    fmi2Status fmi2Set##Type(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,           \
                             const fmi2##Type value[])                                             \
    {                                                                                              \
        (void)vr;                                                                                  \
        (void)value;                                                                               \
        return no_variables(c, nvr, "variables of the type " #Type);                               \
    }

NO_VARIABLES(Integer)
NO_VARIABLES(Boolean)
NO_VARIABLES(String)

fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *FMUstate)
{
    return (fmi2Status)instance_save(c, FMUstate);
}

fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate FMUstate)
{
    return (fmi2Status)instance_restore(c, FMUstate);
}

fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *FMUstate)
{
    (void)c;
    instance_free_saved(FMUstate);
    return fmi2OK;
}

fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate FMUstate, size_t *size)
{
    (void)c;
    (void)FMUstate;
    *size = instance_serialized_size();
    return fmi2OK;
}

fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate FMUstate,
                                 fmi2Byte serializedState[], size_t size)
{
    return (fmi2Status)instance_serialize(c, FMUstate, serializedState, size);
}

fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte serializedState[], size_t size,
                                   fmi2FMUstate *FMUstate)
{
    return (fmi2Status)instance_deserialize(c, serializedState, size, FMUstate);
}

fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference vUnknown_ref[],
                                        size_t nUnknown, const fmi2ValueReference vKnown_ref[],
                                        size_t nKnown, const fmi2Real dvKnown[],
                                        fmi2Real dvUnknown[])
{
    (void)vUnknown_ref;
    (void)nUnknown;
    (void)vKnown_ref;
    (void)nKnown;
    (void)dvKnown;
    (void)dvUnknown;
    return unsupported(c, "directional derivatives");
}

fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                                       const fmi2Integer order[], const fmi2Real value[])
{
    (void)vr;
    (void)order;
    (void)value;
    return no_variables(c, nvr, "derivatives of inputs");
}

fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                                        const fmi2Integer order[], fmi2Real value[])
{
    (void)vr;
    (void)order;
    (void)value;
    return no_variables(c, nvr, "derivatives of outputs");
}

fmi2Status fmi2DoStep(fmi2Component c, fmi2Real currentCommunicationPoint,
                      fmi2Real communicationStepSize, fmi2Boolean noSetFMUStatePriorToCurrentPoint)
{
    (void)noSetFMUStatePriorToCurrentPoint;
    return (fmi2Status)instance_step(c, currentCommunicationPoint, communicationStepSize);
}

fmi2Status fmi2CancelStep(fmi2Component c)
{
    return unsupported(c, "steps that run in the background");
}

/* Steps are never pending: only the time up to which the last one came can be asked for. */
fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind s, fmi2Real *value)
{
    if (s != fmi2LastSuccessfulTime) {
        return fmi2Discard;
    }
    *value = ((struct instance *)c)->last_time;
    return fmi2OK;
}

fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind s, fmi2Status *value)
{
    (void)c;
    (void)s;
    (void)value;
    return fmi2Discard;
}

fmi2Status fmi2GetIntegerStatus(fmi2Component c, const fmi2StatusKind s, fmi2Integer *value)
{
    (void)c;
    (void)s;
    (void)value;
    return fmi2Discard;
}

fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind s, fmi2Boolean *value)
{
    (void)c;
    if (s != fmi2Terminated) {
        return fmi2Discard;
    }
    *value = fmi2False;
    return fmi2OK;
}

fmi2Status fmi2GetStringStatus(fmi2Component c, const fmi2StatusKind s, fmi2String *value)
{
    (void)c;
    (void)s;
    (void)value;
    return fmi2Discard;
}
