/* Chains of casts: is source -> middle -> destination what source -> destination gives?
   ${made}

   An optimiser that fuses a chain asks ${name}_may_fuse; one that inserts a middle type
   asks ${name}_may_split. A chain that ends where it began is compared with no cast. */
#ifndef ${macro}
#define ${macro}

#define ${macro}_RULES "${digest}"

enum ${name}_type {
${types}
  ${macro}_TYPES
};

enum ${name}_verdict {
  ${macro}_EQUAL = 0,         /* for every input */
  ${macro}_WHERE_DEFINED = 1, /* for every input for which both are defined */
  ${macro}_DISPUTED = 2,      /* in some readings of the standard, and not in others */
  ${macro}_DIFFERENT = 3,     /* for some input */
  ${macro}_NO_CHAIN = 255     /* no such type, or the standard lacks one of the casts */
};

static const unsigned char ${name}_table[${macro}_TYPES][${macro}_TYPES][${macro}_TYPES] = {
${rows}
};

static inline unsigned ${name}_found(
    enum ${name}_type source, enum ${name}_type middle, enum ${name}_type destination) {
  const unsigned types = ${macro}_TYPES;
  if ((unsigned)source >= types || (unsigned)middle >= types || (unsigned)destination >= types)
    return ${macro}_NO_CHAIN;
  return ${name}_table[source][middle][destination];
}

static inline enum ${name}_verdict ${name}_chain_verdict(
    enum ${name}_type source, enum ${name}_type middle, enum ${name}_type destination) {
  unsigned found = ${name}_found(source, middle, destination);
  return (enum ${name}_verdict)(found == ${macro}_NO_CHAIN ? found : found & 3);
}

/* Whether the direct cast gives what the chain has to, wherever that has to give something. */
static inline int ${name}_may_fuse(
    enum ${name}_type source, enum ${name}_type middle, enum ${name}_type destination) {
  unsigned found = ${name}_found(source, middle, destination);
  return found != ${macro}_NO_CHAIN && (found & 4) != 0;
}

/* Whether the chain gives what the direct cast has to, wherever that has to give something. */
static inline int ${name}_may_split(
    enum ${name}_type source, enum ${name}_type middle, enum ${name}_type destination) {
  unsigned found = ${name}_found(source, middle, destination);
  return found != ${macro}_NO_CHAIN && (found & 8) != 0;
}

#endif
